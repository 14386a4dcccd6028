import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { bundleFile, codeFolder, common, ran, type Ran } from "./support.ts";

let code: string;
let sourceMap: string;

beforeAll(async () => {
  const folder = codeFolder();
  mkdirSync(join(folder, "lib"));
  writeFileSync(
    join(folder, "lib/check.ts"),
    `export interface Row { readonly price: number }
export function check(row: Row): void {
  if (row.price < 0) throw new Error("negative", { cause: new Error("the cause") });
}
`,
  );
  writeFileSync(
    join(folder, "sales.ts"),
    `import { dag, task } from "meridian";
import { check, type Row } from "./lib/check.ts";
type Unused = { readonly a: string };
function caught(act: () => void): unknown {
  try { act(); } catch (error) { return error; }
}
const bad = (): unknown => caught(() => check({ price: -1 } satisfies Row));
dag("tests", { schedule: null }, () => {
  task("logged", ({ log }) => log.error("bad:", bad()));
  task("consoled", async () => { await Promise.resolve(); console.error("bad:", bad()); });
  task("connected", ({ log, connection }) => {
    const error = caught(() => connection("x"));
    log.error("bad:", error);
    console.error(error);
    throw error;
  });
  task("plain", ({ log }) => log.info("we meet\\n  at noon"));
});
`,
  );
  ({ code, sourceMap } = await bundleFile(folder, "sales.ts"));
});

const run = async (taskId: string): Promise<Ran> => await ran(common(), code, taskId, { sourceMap });

const CLEAN = /activities\/|authoring\/|node:|file:|bundle|\.mjs/;

test.each(["logged", "consoled"])(
  "a %s error has the author's frames alone, with TypeScript lines and relative paths",
  async (taskId) => {
    const [text = ""] = (await run(taskId)).texts;
    const frames = text.split("\n").filter((line) => /^\s+at /.test(line));
    expect(text).toContain("bad: Error: negative");
    expect(text).toContain("the cause");
    expect(frames[0]).toMatch(/at check \(lib\/check\.ts:3:\d+\)/);
    expect(text).toMatch(/sales\.ts:(?:9|10):\d+/);
    expect(frames.filter((line) => CLEAN.test(line))).toEqual([]);
  },
);

test("an error of ours is named by its code, thrown or logged, and begins in the author's code", async () => {
  const { outcome, texts } = await run("connected");
  const missing =
    'connection_missing: connection "x" is not set where this task runs; set the environment variable MERIDIAN_CONN_X';
  expect(texts[0]!.split("\n")[0]).toBe(`bad: ${missing}`);
  expect(texts[1]!.split("\n")[0]).toBe(missing);
  const thrown = outcome.kind === "failed" ? outcome.error : null;
  expect(thrown).toMatchObject({ code: "connection_missing", retryable: false });
  expect(thrown!.stack!.split("\n")[0]).toBe(missing);
  for (const text of [texts[0]!, texts[1]!, thrown!.stack!]) {
    expect(text.split("\n")[1]).toMatch(/sales\.ts:12:\d+/);
    expect(text).not.toMatch(/Terminal|kind:|details:/);
    expect(text.split("\n").filter((line) => /^\s+at /.test(line) && CLEAN.test(line))).toEqual([]);
  }
});

test("a text that only looks like a frame stays", async () => {
  expect((await run("plain")).texts).toEqual(["we meet\n  at noon"]);
});
