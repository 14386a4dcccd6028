import { expect, test } from "vitest";
import { bundleOne, importOne } from "../../processor/examine.ts";
import { makeImportFolder } from "../../processor/import-folder.ts";
import { Importer } from "../../processor/importer.ts";
import { type Finding, storeFindings } from "../../processor/store.ts";
import { DEFAULT_LIMITS } from "../../processor/types.ts";
import { useRig } from "./rig.ts";
import { dagText } from "./support.ts";

const rig = useRig();
const both = /dag "x" is defined by a\.ts and b\.ts/;
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
  const importFolder = makeImportFolder(rig.place.home);
  const importer = new Importer(importFolder, DEFAULT_LIMITS, rig.place.folder);
  const around = { folder: rig.place.folder, importFolder, importer, lockHash: null };
  const parse = async (path: string): Promise<Finding> => {
    const { bundle } = await bundleOne(around.folder, path);
    const examined = await importOne(around, path, bundle!, null, new AbortController().signal);
    if (examined.kind !== "found") throw new Error(examined.kind);
    return examined.finding;
  };
  const a = await parse("a.ts");
  const b = await parse("b.ts");
  await importer.stop();

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
