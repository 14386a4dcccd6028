import { expect, test } from "vitest";
import { bundleOne, importOne } from "../../processor/examine.ts";
import { makeImportFolder } from "../../processor/import-folder.ts";
import { Importer } from "../../processor/importer.ts";
import type { Processor } from "../../processor/processor.ts";
import { type Finding, storeFindings } from "../../processor/store.ts";
import { DEFAULT_LIMITS } from "../../processor/types.ts";
import { useRig } from "./rig.ts";
import { dagText } from "./support.ts";

const rig = useRig();
const both = /dag "x" is defined by a\.ts and b\.ts/;
/** What is found in each of these files, stored nowhere. */
async function findings<T extends string[]>(...paths: T): Promise<{ [K in keyof T]: Finding }> {
  const importFolder = makeImportFolder(rig.place.home);
  const importer = new Importer(importFolder, DEFAULT_LIMITS, rig.place.folder);
  const around = { folder: rig.place.folder, importFolder, importer, lockHash: null };
  const parse = async (path: string): Promise<Finding> => {
    const { bundle } = await bundleOne(around.folder, path);
    const examined = await importOne(around, path, bundle!, null, new AbortController().signal);
    if (examined.kind !== "found") throw new Error(examined.kind);
    return examined.finding;
  };
  const found = await Promise.all(paths.map(parse));
  await importer.stop();
  return found as { [K in keyof T]: Finding };
}
const expectBothInError = async () => {
  expect((await rig.file("a.ts")).error.message).toMatch(both);
  expect((await rig.file("b.ts")).error.message).toMatch(both);
};

test("K60: one id in two files: an error on both; the version in force stays until they are told apart", async () => {
  const p = rig.processor();
  rig.place.write("a.ts", dagText("x", "{}", "() => 1"));
  await p.pass();
  const before = await rig.dag("x");
  rig.place.write("b.ts", dagText("x", "{}", "() => 'b'"));
  await p.pass();
  await expectBothInError();
  expect([(await rig.file("a.ts")).error.line, (await rig.file("b.ts")).error.line], "of the id").toEqual([
    2, 2,
  ]);
  rig.place.write("a.ts", dagText("x", "{}", "() => 2"));
  await p.pass();
  await expectBothInError();
  await rig.processor().pass();
  await expectBothInError();
  expect(await rig.dag("x")).toEqual(before);
  expect(await rig.versions()).toHaveLength(1);

  rig.place.write("b.ts", dagText("y"));
  await p.pass();
  await expect.poll(() => rig.file("a.ts"), { timeout: 10_000 }).toMatchObject({ error: null });
  expect(await rig.file("b.ts")).toMatchObject({ error: null, dag_ids: ["y"] });
  expect((await rig.versions()).map((v) => `${v.dag_id} ${v.number}`)).toEqual(["x 1", "x 2", "y 1"]);
});

test("K60: two files parsed in either order, 20 times: nothing flaps", async () => {
  rig.place.write("a.ts", dagText("x", "{}", "() => 1"));
  rig.place.write("b.ts", dagText("x", "{}", "() => 2"));
  const [a, b] = await findings("a.ts", "b.ts");

  await storeFindings(rig.pool, [a, b]);
  expect(await rig.dag("x"), "both new at once: neither is taken").toBeUndefined();
  await storeFindings(rig.pool, [], ["b.ts"]);
  await storeFindings(rig.pool, [a]);
  const before = await rig.dag("x");
  for (let i = 0; i < 20; i++) {
    for (const finding of i % 2 === 0 ? [b, a] : [a, b]) {
      const { changed, conflicts } = await storeFindings(rig.pool, [finding]);
      expect(changed).toEqual([]);
      expect([...conflicts.keys()].sort()).toEqual(["a.ts", "b.ts"]);
      await expectBothInError();
    }
  }
  expect(await rig.dag("x")).toEqual(before);
  expect(await rig.versions()).toHaveLength(1);

  const { deactivated, recheck } = await storeFindings(rig.pool, [], ["a.ts"]);
  expect({ deactivated, recheck }).toEqual({ deactivated: [], recheck: ["b.ts"] });
  expect((await storeFindings(rig.pool, [b])).changed).toEqual(["x"]);
  expect(await rig.dag("x")).toMatchObject({ active: true, file: "b.ts" });
  expect(await rig.file("b.ts")).toMatchObject({ error: null });
});

const misspelt = (id: string) =>
  `import { dag, task } from "meridian";\ndag("${id}", {}, () => {\n  task("t", { retires: 1 }, () => 1);\n});\n`;

/** hello.ts has "hello", mine.ts had "mine" and then defined "hello" too. */
async function helloTwice(p: Processor): Promise<void> {
  rig.place.write("hello.ts", dagText("hello", "{}", "() => 1"));
  rig.place.write("mine.ts", dagText("mine"));
  await p.pass();
  rig.place.write("mine.ts", dagText("hello", "{}", "() => 'mine'"));
  await p.pass();
  expect(await rig.file("hello.ts")).toMatchObject({ error: { code: "duplicate_dag" } });
  expect(await rig.file("mine.ts")).toMatchObject({ error: { code: "duplicate_dag" }, dag_ids: ["hello"] });
}

const healthy = (path: string) =>
  expect.poll(() => rig.file(path), { timeout: 10_000 }).toMatchObject({ error: null });

test("K60: a file that no longer loads gives back the id that another file owns", async () => {
  const p = rig.processor();
  await helloTwice(p);
  const mine = await rig.dag("mine");
  rig.place.write("mine.ts", misspelt("mine"));
  await p.pass();
  await healthy("hello.ts");
  expect(await rig.file("mine.ts")).toMatchObject({ error: { code: "unknown_option" }, dag_ids: ["mine"] });
  expect(await rig.dag("mine"), "its own goes on").toEqual(mine);
  rig.place.write("hello.ts", dagText("hello", "{}", "() => 2"));
  await p.pass();
  expect((await rig.versions()).map((v) => `${v.dag_id} ${v.number}`)).toEqual([
    "hello 1",
    "hello 2",
    "mine 1",
  ]);
  // What it owns nobody else can take while it is broken.
  rig.place.write("other.ts", dagText("mine"));
  await p.pass();
  expect((await rig.file("other.ts")).error.message).toMatch(
    /dag "mine" is defined by mine\.ts and other\.ts/,
  );
  expect(await rig.dag("mine")).toEqual(mine);
});

test("K60: the same when the mistake is made while no processor runs, and with three at once", async () => {
  const p = rig.processor();
  await helloTwice(p);
  await p.stop();
  rig.place.write("mine.ts", misspelt("mine"));
  rig.place.write("hello.ts", dagText("hello", "{}", "() => 2"));
  const all = [rig.processor(), rig.processor(), rig.processor()];
  await Promise.all(all.map((one) => one.pass()));
  await healthy("hello.ts");
  expect((await rig.versions()).map((v) => `${v.dag_id} ${v.number}`)).toEqual([
    "hello 1",
    "hello 2",
    "mine 1",
  ]);
});

test("K60: the file that owns the id breaks: the other one still does not get it", async () => {
  const p = rig.processor();
  await helloTwice(p);
  const before = await rig.dag("hello");
  rig.place.write("hello.ts", misspelt("hello"));
  await p.pass();
  expect(await rig.file("hello.ts")).toMatchObject({ error: { code: "unknown_option" }, dag_ids: ["hello"] });
  expect(await rig.file("mine.ts")).toMatchObject({ error: { code: "duplicate_dag" } });
  expect(await rig.dag("hello")).toEqual(before);
  expect(await rig.dag("mine")).toMatchObject({ active: true });
});

test("K60: both new at once and one breaks: the other gets the id", async () => {
  rig.place.write("a.ts", dagText("x", "{}", "() => 1"));
  rig.place.write("b.ts", dagText("x", "{}", "() => 2"));
  await storeFindings(rig.pool, await findings("a.ts", "b.ts"));
  await expectBothInError();
  rig.place.write("a.ts", misspelt("x"));
  await rig.processor().pass();
  await healthy("b.ts");
  expect(await rig.dag("x")).toMatchObject({ active: true, file: "b.ts" });
  expect(await rig.file("a.ts")).toMatchObject({ dag_ids: [] });
});

test("K60: the owner goes and the other file breaks: the DAG ends, in either order", async () => {
  for (const order of ["owner first", "other first", "at once"]) {
    const p = rig.processor();
    await helloTwice(p);
    const breakIt = () => rig.place.write("mine.ts", misspelt("hello"));
    if (order === "other first") {
      breakIt();
      await p.pass();
      await healthy("hello.ts");
      expect(await rig.dag("hello")).toMatchObject({ active: true });
    }
    rig.place.unlink("hello.ts");
    if (order === "owner first") {
      const gone = await storeFindings(rig.pool, [], ["hello.ts"]);
      expect(gone).toMatchObject({ deactivated: [], recheck: ["mine.ts"] });
    }
    breakIt();
    await p.pass();
    expect(await rig.dag("hello"), order).toMatchObject({ active: false });
    expect(await rig.dag("mine"), order).toMatchObject({ active: true, file: "mine.ts" });
    expect(await rig.file("mine.ts"), order).toMatchObject({ dag_ids: ["mine"] });
    rig.place.unlink("mine.ts");
    await p.pass();
    expect(await rig.dag("mine"), order).toMatchObject({ active: false });
    await p.stop();
  }
});

test("K60: a DAG whose file shares another id outlives a third file that defined it too", async () => {
  const p = rig.processor();
  await helloTwice(p);
  rig.place.write("third.ts", dagText("mine") + dagText("hello").replace(/^import.*|export default/gm, ""));
  await p.pass();
  expect(await rig.file("third.ts")).toMatchObject({
    error: { code: "duplicate_dag" },
    dag_ids: ["hello", "mine"],
  });
  rig.place.unlink("third.ts");
  await p.pass();
  expect(await rig.dag("mine"), "mine.ts is in error, its version stays").toMatchObject({ active: true });
});

test("K60: an error that whoever resolved it left behind ends with the next rescan", async () => {
  const p = rig.processor();
  await helloTwice(p);
  // As a processor that ended between storing this and looking at hello.ts again.
  const error = { code: "unknown_option", message: "no" };
  const { recheck } = await storeFindings(rig.pool, [
    { kind: "failed", path: "mine.ts", durationMs: 1, error },
  ]);
  expect(recheck).toEqual(["hello.ts"]);
  expect(await rig.file("hello.ts")).toMatchObject({ error: { code: "duplicate_dag" } });
  await p.pass();
  expect(await rig.file("hello.ts")).toMatchObject({ error: null });
});

test("K60: two DAGs of one id in one file are that file's own error, which no other file's replaces", async () => {
  const p = rig.processor();
  const twice = `${dagText("x")}${dagText("x").replace(/^import.*|export default/gm, "")}`;
  rig.place.write("a.ts", dagText("x"));
  await p.pass();
  rig.place.write("a.ts", twice);
  rig.place.write("b.ts", dagText("x"));
  await p.pass();
  rig.place.write("b.ts", dagText("x", "{}", "() => 2"));
  await p.pass();
  expect((await rig.file("a.ts")).error.message).toMatch(/taken by another DAG of the same file/);
  expect((await rig.file("b.ts")).error.message).toMatch(both);
  expect(await p.pass()).toMatchObject({ stored: 0, failed: 0 });
});
