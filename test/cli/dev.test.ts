import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createDevVoice, createPlainVoice, type Voice } from "../../cli/dev.ts";
import type { Db } from "../../db/connection.ts";
import type { FileError } from "../../processor/types.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "voice-"));
  writeFileSync(join(folder, "hello.ts"), "one\ntwo\nthree\n");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const quiet = { info: () => {}, warn: () => {}, error: () => {} };

interface File {
  readonly path: string;
  readonly error: FileError | null;
  readonly dag_ids: readonly string[];
}

/** A voice over files as they are stored, and what it said without the time. */
function speaking(create: typeof createDevVoice, files: File[] = []) {
  const said: string[] = [];
  const db = { query: async () => await Promise.resolve({ rows: files }) } as unknown as Db;
  const print = (text: string): void => void said.push(text.replace(/^\d\d:\d\d:\d\d {2}/, ""));
  const voice: Voice = create({ db, folder, log: quiet, print });
  return { voice, said };
}

const ERROR = { code: "bad_option", message: "retries is -1", line: 2, column: 1, file: "hello.ts" };

describe.each([
  ["start", createPlainVoice],
  ["dev", createDevVoice],
])("what %s tells of DAG files", (_name, create) => {
  it("an error with its lines, also one found at the start, and when it is mended or gone", async () => {
    const files: File[] = [{ path: "hello.ts", error: ERROR, dag_ids: ["hello"] }];
    const { voice, said } = speaking(create, files);
    voice.log.warn({ path: "hello.ts", code: "bad_option" }, "hello.ts: retries is -1");
    await vi.waitFor(() => expect(said).toHaveLength(1));
    expect(said[0]).toMatch(/hello\.ts:2:1 {2}retries is -1\n +1 \| one\n +> 2 \| two\n.*\n +3 \| three/);
    expect(said[0]).toMatch(/\n +the last good version stays in force$/);
    files[0] = { ...files[0]!, error: null };
    await vi.waitFor(() => expect(said[1]).toMatch(/hello\.ts is fine again$/), 5_000);

    files[0] = { path: "hello.ts", error: ERROR, dag_ids: [] };
    voice.log.warn({ path: "hello.ts", code: "bad_option" }, "hello.ts: retries is -1");
    await vi.waitFor(() => expect(said[2]).toMatch(/\n +it defines no DAG until that is mended$/), 5_000);
    files.pop();
    await vi.waitFor(() => expect(said[3]).toMatch(/hello\.ts is gone$/), 5_000);
    voice.end();
  });

  it("an id that is another file's too, whose message says what is in force", async () => {
    const message = 'dag "x" is defined by a.ts and hello.ts. Until then the version in force stays.';
    const error = { code: "duplicate_dag", message, line: 1 };
    const { voice, said } = speaking(create, [{ path: "hello.ts", error, dag_ids: ["x"] }]);
    voice.log.warn({ path: "hello.ts", code: "duplicate_dag" }, message);
    await vi.waitFor(() => expect(said).toHaveLength(1));
    expect(said[0]).toMatch(/hello\.ts:1 {2}dag "x" is defined by/);
    expect(said[0]!.match(/in force/g)).toHaveLength(1);
    voice.end();
  });

  it.each([
    ["is an error while the product runs", false, 1],
    ["is none once it has been stopped", true, 0],
  ])("a database that ends under a question %s", async (_case, isStopped, errors) => {
    let refuse = (_error: Error): void => {};
    const query = vi.fn(async () => await new Promise<never>((_resolve, reject) => (refuse = reject)));
    const error = vi.fn();
    const voice = create({
      db: { query } as unknown as Db,
      folder,
      log: { ...quiet, error },
      print: () => {},
    });
    voice.log.warn({ path: "hello.ts", code: "bad_option" }, "hello.ts: retries is -1");
    await vi.waitFor(() => expect(query).toHaveBeenCalled());
    if (isStopped) voice.end();
    refuse(new Error("Cannot use a pool after calling end on the pool"));
    await new Promise(setImmediate);
    expect(error).toHaveBeenCalledTimes(errors);
  });

  it("DAGs that go, one or several", () => {
    const { voice, said } = speaking(create);
    voice.log.info({ gone: ["early"] }, "");
    voice.begin();
    voice.log.info({ gone: ["one"] }, "");
    voice.log.info({ gone: ["a", "b"] }, "");
    expect(said).toEqual(["one: no file defines it any more", "a, b: no file defines them any more"]);
  });
});

it("a start names what each save stored, not what it found at first", () => {
  const { voice, said } = speaking(createPlainVoice);
  voice.stored(["early"]);
  voice.begin();
  voice.stored(["hello", "sales"]);
  voice.same("hello.ts");
  expect(said).toEqual(["stored: hello, sales"]);
});

it("F2: dev tells of a save that changes nothing, a shared module's in one line", async () => {
  const { voice, said } = speaking(createDevVoice);
  voice.begin();
  for (const path of ["d.ts", "c.ts", "b.ts", "a.ts"]) voice.same(path);
  await vi.waitFor(() => expect(said).toHaveLength(1));
  expect(said[0]).toMatch(/a\.ts, .*b\.ts, .*c\.ts and 1 more: saved, no change in what is run$/);
});
