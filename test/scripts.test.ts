import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  scripts: Record<string, string>;
};

test("every file and every script that an npm script names exists", () => {
  const words = Object.entries(scripts).flatMap(([name, text]) =>
    text.split(/\s+/).map((word, index, all) => ({ name, word, isScript: all[index - 1] === "run" })),
  );
  const files = words.filter(({ word }) => /^[\w./-]+\.(?:ts|tsx|mjs|js)$/.test(word));
  expect(files.length).toBeGreaterThan(5);
  expect(files.filter(({ word }) => !existsSync(join(ROOT, word)))).toEqual([]);
  const named = words.filter(({ isScript, word }) => isScript && !(word in scripts));
  expect(named).toEqual([]);
});
