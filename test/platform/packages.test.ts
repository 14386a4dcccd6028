import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { linkPackages } from "../../platform/code-folder.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const home = mkdtempSync(join(tmpdir(), "meridian-home-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

describe("a data folder outside the project", () => {
  it("regression: bundles in it find `meridian` and the project's packages", () => {
    linkPackages(home, ROOT);
    linkPackages(home, ROOT);
    const from = createRequire(join(home, "code", "bundle.mjs"));
    expect(realpathSync(from.resolve("meridian"))).toBe(realpathSync(join(ROOT, "authoring/index.ts")));
    expect(realpathSync(from.resolve("pg"))).toContain("node_modules/pg/");
  });
});
