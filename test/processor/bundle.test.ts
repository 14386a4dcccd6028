import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
    error: { code: "bundle_failed", file: "broken.ts", line: 2, column: 11 },
  });
  place.write("lost.ts", 'import "./gone.ts";\n');
  const lost = await bundleFile(place.folder, "lost.ts");
  expect(lost).toMatchObject({
    kind: "failed",
    error: { message: 'lost.ts:1: Could not resolve "./gone.ts"', line: 1 },
  });
});
