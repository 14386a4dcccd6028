import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { bundleFile } from "../../processor/bundle.ts";
import { makeWorkplace, type Workplace } from "./support.ts";

let place: Workplace;
beforeEach(() => {
  place = makeWorkplace();
});
afterEach(() => place.remove());

const bundled = async (folder: string, file: string) => {
  const result = await bundleFile(folder, file);
  if (result.kind === "failed") throw new Error(result.error.message);
  return result.bundle;
};

test("the author's own files are inlined, packages stay outside, text files become text", async () => {
  place.write(
    "team/sales.ts",
    `
    import { dag } from "meridian";
    import { z } from "zod";
    import { name } from "../lib/name.ts";
    import query from "./load.sql";
    import rows from "./rows.csv";
    export default [dag, z, name, query, rows];`,
  );
  place.write("lib/name.ts", "export const name: string = 'from lib';");
  place.write("team/load.sql", "select 1");
  place.write("team/rows.csv", "a,b");
  const { code, hash, inputs } = await bundled(place.folder, "team/sales.ts");
  expect(code).toContain('from "meridian"');
  expect(code).toContain('from "zod"');
  expect(code).toContain("from lib");
  expect(code).toContain('"select 1"');
  expect(code).toContain('"a,b"');
  expect(hash).toBe(createHash("sha256").update(code).digest("hex"));
  const own = ["lib/name.ts", "team/load.sql", "team/rows.csv", "team/sales.ts"];
  expect([...inputs].sort()).toEqual(own.map((path) => join(place.folder, path)));
});

test("B1: one source has one code and one map wherever it lies", async () => {
  place.write("sales.ts", 'import { name } from "./lib/name.ts";\nconsole.log(name as string);\n');
  place.write("lib/name.ts", "export const name = 'x';");
  const elsewhere = mkdtempSync(join(tmpdir(), "elsewhere-"));
  try {
    cpSync(place.folder, elsewhere, { recursive: true });
    const here = await bundled(place.folder, "sales.ts");
    const there = await bundled(elsewhere, join(elsewhere, "sales.ts"));
    expect(there.code).toBe(here.code);
    expect(there.map).toBe(here.map);
    expect(here.code + here.map).not.toContain(place.folder);
    expect(JSON.parse(here.map).sources).toEqual(["lib/name.ts", "sales.ts"]);
  } finally {
    rmSync(elsewhere, { recursive: true });
  }
});

test("what does not bundle says where", async () => {
  place.write("broken.ts", "const a = 1;\nconst b = ;\n");
  const result = await bundleFile(place.folder, "broken.ts");
  expect(result).toMatchObject({
    kind: "failed",
    error: { code: "bundle_failed", message: 'Unexpected ";"', file: "broken.ts", line: 2, column: 11 },
  });
  place.write("lost.ts", 'import "./gone.ts";\n');
  const lost = await bundleFile(place.folder, "lost.ts");
  expect(lost).toMatchObject({
    kind: "failed",
    error: { message: 'Could not resolve "./gone.ts"', line: 1 },
  });
});

test("K62: a file of a mounted ConfigMap has one code, whatever the folder behind its link is called", async () => {
  const mount = join(place.folder, "mount");
  mkdirSync(mount);
  for (const name of ["sales.ts", "lib.ts"]) symlinkSync(`..data/${name}`, join(mount, name));
  const hashes = new Set<string>();
  for (const deployed of ["..2026_05_09", "..2026_05_10"]) {
    place.write(`mount/${deployed}/sales.ts`, 'import { name } from "./lib.ts";\nconsole.log(name);\n');
    place.write(`mount/${deployed}/lib.ts`, "export const name = 'x';\n");
    symlinkSync(deployed, join(mount, "..new"));
    renameSync(join(mount, "..new"), join(mount, "..data"));
    const { hash, map, inputs } = await bundled(mount, "sales.ts");
    hashes.add(hash);
    expect(JSON.parse(map).sources).toEqual(["lib.ts", "sales.ts"]);
    expect([...inputs].sort()).toEqual([join(mount, "lib.ts"), join(mount, "sales.ts")]);
  }
  expect(hashes.size).toBe(1);
});

test("a link to a file elsewhere finds what lies beside that file", async () => {
  place.write("team/lib.ts", "export const name = 'beside';\n");
  place.write("team/sales.ts", 'import { name } from "./lib.ts";\nconsole.log(name);\n');
  place.write("dags/other.ts", "");
  place.link("team/sales.ts", "dags/sales.ts");
  expect((await bundled(join(place.folder, "dags"), "sales.ts")).code).toContain("beside");
});

test("a CommonJS file may require what Node has", async () => {
  place.write("lib.cjs", 'const { sep } = require("node:path");\nmodule.exports = { sep };\n');
  place.write("sales.ts", 'import lib from "./lib.cjs";\nprocess.stdout.write(lib.sep);\n');
  const { code } = await bundled(place.folder, "sales.ts");
  place.write("bundle.mjs", code);
  expect(execFileSync(process.execPath, [join(place.folder, "bundle.mjs")], { encoding: "utf8" })).toBe(sep);
});
