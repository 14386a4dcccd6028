import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DagFiles, scan } from "../../processor/dag-files.ts";
import { importsOf, stemOf } from "../../processor/imports-of.ts";
import { dagText, makeWorkplace, type Workplace } from "./support.ts";

let place: Workplace;
beforeEach(() => {
  place = makeWorkplace();
});
afterEach(() => place.remove());

const MAKE = `import { dag, task } from "meridian";\nexport const make = (id: string) => dag(id, {}, () => void task("t", () => 1));\n`;
const FACTORY = `import { make } from "./lib/make.ts";\nexport const one = make("one");\n`;

describe("A1, B1: which files are DAG files", () => {
  it.each([
    ["a call of dag()", 'dag("x", {}, () => {});', true],
    ["a call of something that ends so", 'makeDag("x");', true],
    ["an alias", 'import { dag as workflow } from "meridian";\nworkflow("x");', true],
    ["a task outside of any DAG", 'import { task } from "meridian";\ntask("t", () => 1);', true],
    ["single quotes, over several lines", "import {\n  task,\n} from 'meridian';", true],
    ["a default export called type", 'import type from "meridian";', true],
    ["a dynamic import", 'const { task } = await import("meridian");', true],
    ["a require", 'const m = require("meridian");', true],
    ["types alone", 'import type { TaskRef } from "meridian";', false],
    ["another entry of the package", 'import { runDag } from "meridian/testing";', false],
    ["another package", 'import { x } from "meridian-tools"; import y from "@my/meridian";', false],
    ["what passes it on", 'export * from "meridian";', false],
    ["none of it", "export const a = 1;", false],
  ])("%s: %j", async (_name, text, isOne) => {
    place.write("x.ts", text);
    expect(await scan(place.folder)).toEqual(isOne ? ["x.ts"] : []);
  });

  it.each([
    ["with its ending", "./lib/make.ts"],
    ["as compiled", "./lib/make.js"],
    ["without ending", "./lib/make"],
    ["through an index", "./lib"],
    ["through an index and a slash", "./lib/"],
    ["at a distance", "./lib/far/further.ts"],
    ["by another way", "./lib/../lib/far/../make.ts"],
  ])("those that use a module that is one, %s: %s", async (_name, from) => {
    place.write("lib/make.ts", MAKE);
    place.write("lib/index.ts", 'export * from "./make.ts";\n');
    place.write("lib/far/further.ts", 'export { make } from "./again.mts";\n');
    place.write(
      "lib/far/again.mts",
      'import { make as made } from "../index.ts";\nexport const make = made;\n',
    );
    place.write("factory.ts", FACTORY.replace("./lib/make.ts", from));
    place.write("lib/plain.ts", "export const a = 1;\n");
    place.write("plain.ts", 'import { a } from "./lib/plain.ts";\n');
    // What it loads or passes on is its own file's doing; types are gone when it runs.
    place.write("barrel.ts", 'export * from "./factory.ts";\nimport "./lib/make.ts";\n');
    place.write("types.ts", 'import type { one } from "./factory.ts";\nexport type One = typeof one;\n');
    expect(await scan(place.folder)).toEqual(["factory.ts", "lib/make.ts"]);
  });

  it("modules in a circle end nothing", async () => {
    place.write("a.ts", 'import { b } from "./b.ts";\n');
    place.write("b.ts", 'import { a } from "./a.ts";\n');
    expect(await scan(place.folder)).toEqual([]);
    place.write("b.ts", 'import { a } from "./a.ts";\nimport { make } from "./lib/make.ts";\n');
    place.write("lib/make.ts", MAKE);
    expect(await scan(place.folder)).toEqual(["a.ts", "b.ts", "lib/make.ts"]);
  });

  it("what changes is told as a scan would: also files that become some, or are no more, as their helper changes", async () => {
    const files = new DagFiles(place.folder);
    place.write("lib/make.ts", "export const make = (id: string) => id;\n");
    place.write("factory.ts", FACTORY);
    place.write("sales.ts", dagText("sales"));
    expect(await files.scan()).toEqual(["sales.ts"]);
    place.write("lib/make.ts", MAKE);
    expect((await files.changed(["lib/make.ts"])).sort()).toEqual(["factory.ts", "lib/make.ts"]);
    expect(await files.scan()).toEqual(["factory.ts", "lib/make.ts", "sales.ts"]);

    place.unlink("lib/make.ts");
    expect(await files.changed(["lib/make.ts"], new Set(["factory.ts", "lib/make.ts"]))).toEqual([]);
    expect(await files.scan()).toEqual(["sales.ts"]);
    expect(await files.scan(["factory.ts", "lib/make.ts"]), "known, and there").toEqual([
      "factory.ts",
      "sales.ts",
    ]);
    expect(await files.changed(["factory.ts"], new Set(["factory.ts"]))).toEqual(["factory.ts"]);
  });

  it("1,000 files in less than a second, and again in less", async () => {
    place.write("lib/make.ts", MAKE);
    for (let i = 0; i < 1_000; i++) {
      place.write(
        `f${i}.ts`,
        i % 2 === 0 ? FACTORY : `import { a } from "./f${i - 1}.ts";\n${"// text\n".repeat(200)}`,
      );
    }
    const files = new DagFiles(place.folder);
    const startedAt = performance.now();
    expect(await files.scan()).toHaveLength(1_001);
    const firstMs = performance.now() - startedAt;
    await files.scan();
    expect(firstMs).toBeLessThan(1_000);
    expect(performance.now() - startedAt - firstMs).toBeLessThan(500);
  });

  it("a module is imported when another takes something of it, be it types alone", async () => {
    place.write("lib/make.ts", MAKE);
    place.write("lib/types.ts", `${MAKE}export type Id = string;\n`);
    place.write("lib/self.ts", `import { x } from "./self.ts";\n${MAKE}`);
    place.write("factory.ts", `import type { Id } from "./lib/types";\n${FACTORY}`);
    const files = new DagFiles(place.folder);
    await files.scan();
    const asked = ["lib/make.ts", "lib/types.ts", "lib/self.ts", "factory.ts"];
    expect(asked.filter((path) => files.isImported(path))).toEqual(["lib/make.ts", "lib/types.ts"]);
  });
});

it("imports are told apart by the word of their own statement", () => {
  const text = `export const a = 1
export { c } from "./c.ts"
import {
  type B, // from what
  b,
} from "./b.ts"
export type { D } from "./d.ts"
import type { E } from "../e.ts"
import "./f.ts"
const g = await import("./deep/g.ts")
`;
  expect(importsOf("lib/x.ts", text)).toEqual({
    own: false,
    passesOn: false,
    uses: ["lib/b", "lib/deep/g"],
    loads: ["lib/c", "lib/f"],
    types: ["lib/d", "e"],
  });
  expect(importsOf("x.ts", 'import { a } from "../outside.ts";').uses).toEqual([]);
  expect(["index.ts", ".", "a/index.js", "a", "a/b.v2.tsx", "myindex.ts"].map(stemOf)).toEqual([
    "",
    "",
    "a",
    "a",
    "a/b.v2",
    "myindex",
  ]);
});
