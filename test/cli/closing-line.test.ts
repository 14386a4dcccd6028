import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, it } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const CONFIG = "test/cli/suites/vitest.config.mjs";

/** Runs test/run.mjs on tiny suites as `npm test` runs it on ours. */
async function runSuites(
  ...names: readonly string[]
): Promise<{ status: number | null; closing: string; text: string }> {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(VITEST|NODE_OPTIONS$|TEST$|DEV$|PROD$|MODE$)/.test(name),
    ),
  );
  const child = spawn(process.execPath, ["test/run.mjs", "--config", CONFIG, ...names], {
    cwd: ROOT,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const status = await new Promise<number | null>((done) => child.once("close", done));
  return { status, closing: text.trimEnd().split("\n").at(-1)!, text };
}

describe("the closing line of the test run says what was counted, and the exit code agrees", () => {
  it.for([
    ["all pass", ["pass"], "2 passed, 0 failed", 0],
    ["one fails, and is named above the line", ["pass", "fail"], "3 passed, 1 failed", 1],
    ["a file that cannot be loaded counts as failed", ["pass", "unloadable"], "2 passed, 1 failed", 1],
    [
      "a broken hook fails the run, its tests are not counted as passed",
      ["pass", "hook"],
      "2 passed, 1 failed, 1 skipped",
      1,
    ],
    ["an error outside of any test fails the run", ["stray"], "1 passed, 1 failed", 1],
    ["a run without any test is no success", ["empty"], "0 passed, 1 failed", 1],
    ["a name that no file has is no success", ["nowhere"], "0 passed, 1 failed", 1],
  ] as const)("%s", { timeout: 120_000 }, async ([, names, closing, status], context) => {
    const run = await runSuites(...names);
    context.expect(run.closing, run.text).toBe(closing);
    context.expect(run.status).toBe(status);
    if (names.some((name) => name === "fail"))
      context.expect(run.text).toMatch(/\nfailed: .*fail\.suite\.ts: bad\n/);
  });
});
