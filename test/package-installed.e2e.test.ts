import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
let project: string;

/** As `npm install` of the packed file leaves it, but for the packages it depends on: links to ours. */
beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), "meridian-project-"));
  const packed = execFileSync(
    "npm",
    ["pack", "--ignore-scripts", "--silent", "--pack-destination", project],
    {
      cwd: ROOT,
      encoding: "utf8",
    },
  ).trim();
  const modules = join(project, "node_modules");
  mkdirSync(join(modules, "meridian"), { recursive: true });
  execFileSync("tar", [
    "xzf",
    join(project, packed),
    "--strip-components=1",
    "-C",
    join(modules, "meridian"),
  ]);
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  for (const name of Object.keys(dependencies)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
  }
  mkdirSync(join(project, "dags"));
  writeFileSync(
    join(project, "dags/mine.ts"),
    `import { dag, task } from "meridian";
export const mine = dag("mine", { schedule: null }, () => {
  const numbers = task("numbers", () => [1, 2]);
  task("count", { inputs: { numbers } }, ({ inputs }) => inputs.numbers.length);
});
`,
  );
});
afterAll(() => rmSync(project, { recursive: true, force: true }));

const meridian = (args: readonly string[]): string =>
  execFileSync(join(project, "node_modules/meridian/cli/meridian.mjs"), args, {
    cwd: project,
    encoding: "utf8",
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"] },
  });

test("the packed command is executable, and loads with nothing but what is packed", () => {
  expect(meridian(["--version"])).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(meridian(["--help"])).toContain("Usage: meridian");
});

test("in a project of its own it checks and runs the project's DAG files", () => {
  expect(() => meridian(["validate"])).not.toThrow();
  expect(meridian(["dags", "test", "dags/mine.ts", "--interval", "2026-05-09"])).toContain("success");
});
