import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/product.ts";
import { startWholeProduct, type WholeProduct } from "../support/whole-product.ts";

let product: WholeProduct;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "dev-"));
  product = await startWholeProduct("dev");
});
afterAll(async () => {
  await product.stop();
  rmSync(folder, { recursive: true, force: true });
});

const FILE = "loop.ts";
const loop = (answer: number, retries = 0): string => `import { existsSync, writeFileSync } from "node:fs";
import { dag, task } from "meridian";

// Says that it runs, and waits for leave to end.
dag("dev_loop", { schedule: null }, () => {
  const held = task("held", { retries: ${retries} }, async ({ conf, runId }) => {
    writeFileSync(\`${folder}/\${runId}\`, "");
    while (conf["hold"] === true && !existsSync("${folder}/go")) await new Promise((done) => setTimeout(done, 20));
    return ${answer};
  });
  task("after", { inputs: { held } }, ({ inputs }) => [inputs.held, ${answer}]);
});
`;

async function api<T>(path: string, body?: unknown): Promise<T> {
  const response = await fetch(`${product.url}/api/v1${path}`, {
    method: body === undefined ? "GET" : "POST",
    ...(body === undefined
      ? {}
      : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  });
  expect(response.ok, path).toBe(true);
  return (await response.json()) as T;
}

const trigger = async (conf: object): Promise<string> =>
  (await api<{ runId: string }>("/dags/dev_loop/runs", { conf })).runId;

const said = async (text: RegExp): Promise<unknown> =>
  await until(async () => (text.test(product.output()) ? true : null), 20_000, String(text));

/** What `after` returned, once the run has ended. */
async function answerOf(runId: string): Promise<unknown> {
  await until(async () => {
    const { state } = await api<{ state: string }>(`/dags/dev_loop/runs/${runId}`);
    return state === "success" ? true : null;
  });
  const { tries } = await api<{ tries: { output: unknown }[] }>(
    `/dags/dev_loop/runs/${runId}/tasks/after/tries`,
  );
  return tries[0]!.output;
}

describe("F2: meridian dev", () => {
  it("each save that changes something is a version, told in a line; a run in flight keeps its own", async () => {
    product.write(FILE, loop(1));
    await said(/dev_loop {2}version 1, \d+\.\d s after the save: new, 2 tasks/);
    const first = await trigger({ hold: true });
    await until(async () => existsSync(join(folder, first)) || null);

    product.write(FILE, loop(2));
    await said(/dev_loop {2}version 1 → 2, \d+\.\d s after the save: code/);
    product.write(FILE, loop(3, 2));
    await said(/dev_loop {2}version 2 → 3, \d+\.\d s after the save: task held: retries 0 → 2; code/);
    expect(await answerOf(await trigger({}))).toEqual([3, 3]);

    writeFileSync(join(folder, "go"), "");
    // Also the task that began only after both saves.
    expect(await answerOf(first)).toEqual([1, 1]);
    const runs = await api<{ version: { number: number } | number | null }>(`/dags/dev_loop/runs/${first}`);
    expect(JSON.stringify(runs.version)).toContain("1");
  });

  it("a save that changes nothing that is run is no version", async () => {
    product.write(FILE, `${loop(3, 2)}// a remark\n`);
    await said(/loop\.ts: saved, no change in what is run/);
    product.write(
      "other.ts",
      `import { dag } from "meridian";\ndag("dev_other", { schedule: null }, () => {});\n`,
    );
    await said(/dev_other {2}version 1/);
    const { versions } = await api<{ versions: { number: number }[] }>("/dags/dev_loop/versions");
    expect(versions.map(({ number }) => number)).toEqual([3, 2, 1]);
  });

  it("an error is told with its place and lines, and is on the page; the last good version stays in force", async () => {
    product.write(FILE, loop(4).replace("inputs: { held }", "inputs: { held: undefined }"));
    await said(/loop\.ts:11:3 {2}dag "dev_loop", task "after": input "held" is undefined; expected/);
    await said(/> 11 \| {3}task\("after", \{ inputs: \{ held: undefined \} \}.*\n.*\| {3}\^/);
    await said(/the last good version stays in force/);
    const { errors } = await api<{ errors: { file: string; line: number }[] }>("/import-errors");
    expect(errors).toMatchObject([{ file: FILE, line: 11 }]);
    expect(await answerOf(await trigger({}))).toEqual([3, 3]);

    product.write(FILE, loop(3, 2));
    await said(/loop\.ts is fine again/);
    product.write(FILE, loop(5, 2));
    await said(/dev_loop {2}version 3 → 4/);
    expect(await answerOf(await trigger({}))).toEqual([5, 5]);
  });

  it("going back to an earlier text is told from what was in force to what is, and so is what comes after", async () => {
    product.write(FILE, loop(1));
    await said(/dev_loop {2}version 4 → 1, \d+\.\d s after the save: task held: retries 2 → 0; code/);
    expect(await answerOf(await trigger({}))).toEqual([1, 1]);
    product.write(FILE, loop(6));
    await said(/dev_loop {2}version 1 → 5, \d+\.\d s after the save: code/);
  });

  it("a file that goes takes its DAGs with it", async () => {
    product.write("other.ts", null);
    await said(/dev_other: no file defines it any more/);
  });
});
