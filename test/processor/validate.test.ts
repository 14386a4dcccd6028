import { execFile } from "node:child_process";
import { readdirSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { loadDags, validate } from "../../processor/validate.ts";
import { dagText, makeWorkplace, type Workplace } from "./support.ts";

const VALIDATE = fileURLToPath(new URL("../../processor/validate.ts", import.meta.url));

let place: Workplace;
beforeEach(() => {
  place = makeWorkplace();
});
afterEach(() => place.remove());

test("K60, B1: validate says of each file what the processor would find, without a database", async () => {
  place.write("good.ts", dagText("good"));
  place.write("a.ts", dagText("x"));
  place.write("b.ts", dagText("x"));
  place.write("broken.ts", "dag(;\n");
  place.write("slow.ts", `${dagText("slow")}while (true) {}\n`);
  place.write("throws.ts", `${dagText("throws")}\nthrow new TypeError("no");\n`);
  const files = ["good.ts", "a.ts", "b.ts", "broken.ts", "slow.ts", join(place.folder, "throws.ts")];
  const reports = await validate(files, {
    folder: place.folder,
    home: place.home,
    limits: { timeoutMs: 3_000, promptMs: 1_000 },
  });
  expect(reports.map((report) => [report.path, report.error?.code ?? null, report.error?.line])).toEqual([
    ["good.ts", null, undefined],
    ["a.ts", "duplicate_dag", 2],
    ["b.ts", "duplicate_dag", 2],
    ["broken.ts", "bundle_failed", 1],
    ["slow.ts", "import_timeout", undefined],
    ["throws.ts", "TypeError", 6],
  ]);
  expect(reports[0]!.graphs.map((graph) => graph.dagId)).toEqual(["good"]);
  expect(readdirSync(join(place.home, "import")), "nothing is left behind").toEqual([]);
});

test("loadDags gives the DAGs with their bodies, and stacks name the author's lines", async () => {
  place.write(
    "lib/boom.ts",
    "interface A { a: 1 }\nexport const boom = (): never => {\n  throw new Error('boom');\n};\n",
  );
  place.write("x.ts", `import { boom } from "./lib/boom.ts";\n${dagText("x", "{}", "() => boom()")}`);
  const script = join(place.folder, "../load.ts");
  writeFileSync(
    script,
    `import { loadDags } from ${JSON.stringify(VALIDATE)};
     const dags = await loadDags(process.argv[2]!, process.argv[3]!);
     try { (dags[0]!.bodyOf("t") as () => void)(); } catch (error) {
       console.log(JSON.stringify({ ids: dags.map((dag) => dag.graph.dagId), stack: (error as Error).stack }));
     }`,
  );
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--import",
    "tsx",
    script,
    join(place.folder, "x.ts"),
    place.home,
  ]);
  const { ids, stack } = JSON.parse(stdout);
  expect(ids).toEqual(["x"]);
  expect(stack).toContain(`${join(place.folder, "lib/boom.ts")}:3:9`);
  expect(stack).toContain(`${join(place.folder, "x.ts")}:4`);
});

test("loadDags says where a file does not bundle, also in a module that it imports", async () => {
  place.write("lib/rate.ts", "export const rate = 1;\nexport const = 2;\n");
  place.write("x.ts", `import { rate } from "./lib/rate.ts";\nvoid rate;\n${dagText("x")}`);
  await expect(loadDags(join(place.folder, "x.ts"), place.home)).rejects.toThrow(
    /^lib\/rate\.ts:2:14: Expected identifier but found "="$/,
  );
});

test("B1: a child whose parent is killed ends, even in the middle of an endless loop", async () => {
  const mark = join(place.folder, "pid");
  place.write(
    "loop.ts",
    `${dagText("loop")}import { writeFileSync } from "node:fs";\nwriteFileSync(${JSON.stringify(mark)}, String(process.pid));\nwhile (true) {}\n`,
  );
  const script = join(place.folder, "../run.ts");
  writeFileSync(
    script,
    `import { loadDags, validate } from ${JSON.stringify(VALIDATE)};
     await validate(["loop.ts"], { folder: process.argv[2]!, home: process.argv[3]! });`,
  );
  const run = promisify(execFile)(process.execPath, ["--import", "tsx", script, place.folder, place.home]);
  run.catch(() => {});
  await expect.poll(() => existsSync(mark), { timeout: 20_000 }).toBe(true);
  const { readFileSync } = await import("node:fs");
  await expect.poll(() => Number(readFileSync(mark, "utf8")), { timeout: 5_000 }).toBeGreaterThan(0);
  const pid = Number(readFileSync(mark, "utf8"));
  run.child.kill("SIGKILL");
  await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test("A6: an import that the library does not have leads to the word that is meant", async () => {
  place.write(
    "waits.ts",
    `import { ExternalTaskSensor } from "meridian";\n${dagText("waits")}void ExternalTaskSensor;\n`,
  );
  const [report] = await validate(["waits.ts"], { folder: place.folder, home: place.home });
  expect(report!.error!.message).toBe(
    "The requested module 'meridian' does not provide an export named 'ExternalTaskSensor'; did you mean \"waitForRun\"?",
  );
});

test("a file that looks for another beside itself is told to import it", async () => {
  const text = `import { readFileSync } from "node:fs";\n${dagText("reads")}readFileSync(new URL("./query.sql", import.meta.url));\n`;
  place.write("reads.ts", text);
  place.write("query.sql", "select 1");
  const message =
    "ENOENT: no such file or directory, open 'query.sql'; a DAG file runs bundled, where nothing lies beside it: " +
    'import the file, as text, such as import query from "./query.sql"';
  const [report] = await validate(["reads.ts"], { folder: place.folder, home: place.home });
  expect(report!.error).toMatchObject({ code: "ENOENT", message, line: 6 });
  await expect(loadDags(join(place.folder, "reads.ts"), place.home)).rejects.toThrow(message);
});
