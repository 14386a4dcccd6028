// Runs the suite and closes with a plain line of the real counts. `--full`: the named sizes.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const args = process.argv.slice(2);
const full = args.includes("--full");
const rest = args.filter((arg) => arg !== "--full");
const folder = join(root, ".meridian");
const report = join(folder, `test-report-${process.pid}.json`);
mkdirSync(folder, { recursive: true });

const run = spawnSync(
  process.execPath,
  [
    join(root, "node_modules/vitest/vitest.mjs"),
    "run",
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${report}`,
    ...rest,
  ],
  { cwd: root, stdio: "inherit", env: { ...process.env, ...(full ? { MERIDIAN_TEST_FULL: "1" } : {}) } },
);

let passed = 0;
let failed = 0;
let skipped = 0;
try {
  const result = JSON.parse(readFileSync(report, "utf8"));
  passed = result.numPassedTests;
  skipped = result.numPendingTests + result.numTodoTests;
  // A file that could not be loaded has no tests to count; it has failed all the same.
  const unloaded = result.testResults.filter(
    (file) => file.status === "failed" && file.assertionResults.length === 0,
  );
  failed = result.numFailedTests + unloaded.length;
  for (const file of result.testResults) {
    for (const test of file.assertionResults) {
      if (test.status === "failed") console.log(`failed: ${file.name.replace(root, "")}: ${test.fullName}`);
    }
  }
} catch (error) {
  console.error(`no test report was written: ${error.message}`);
  failed = 1;
} finally {
  rmSync(report, { force: true });
}
if (run.status !== 0 && failed === 0) failed = 1;
console.log(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);
