import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { LAYOUT } from "./layout.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const SOURCE = /\.(ts|tsx|mjs)$/;
const IMPORT =
  /(?:^|\n)\s*(?:import|export)(\s+type)?\s+(?:[^"';]*?\sfrom\s+)?["']([^"']+)["']|import\(\s*["']([^"']+)["']\s*\)/g;

interface Import {
  readonly file: string;
  readonly target: string;
  readonly typeOnly: boolean;
}

function sources(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (name === "node_modules" || name === "dist" || name === "bundle" || name === "fixtures") return [];
    if (statSync(path).isDirectory()) return sources(path);
    return SOURCE.test(name) ? [path] : [];
  });
}

/** The text without its comments. */
function code(path: string): string {
  return readFileSync(path, "utf8")
    .replaceAll(/\/\*[\s\S]*?\*\//g, "")
    .replaceAll(/(^|\s)\/\/.*$/gm, "");
}

function importsOf(path: string): Import[] {
  return [...code(path).matchAll(IMPORT)].map((match) => ({
    file: relative(ROOT, path),
    target: (match[2] ?? match[3])!,
    typeOnly: match[1] !== undefined,
  }));
}

/** Why an import is not allowed; null when it is. */
function problem(folder: string, { file, target, typeOnly }: Import): string | null {
  const rule = LAYOUT[folder]!;
  if (rule.folders.includes("*")) return null;
  if (target.startsWith(".")) {
    const other = relative(ROOT, resolve(ROOT, dirname(file), target)).split("/")[0]!;
    if (other === folder || rule.folders.includes(other)) return null;
    if (typeOnly && rule.typesOnly?.includes(other)) return null;
    return `${file} imports ${target}: ${folder}/ may not import ${other}/${typeOnly ? "" : " (as a value)"}`;
  }
  const allowed = rule.packages.some(
    (name) =>
      target === name || target.startsWith(name.endsWith("/") || name.endsWith(":") ? name : `${name}/`),
  );
  return allowed ? null : `${file} imports ${target}: not among the packages of ${folder}/`;
}

describe("layout: imports go one way", () => {
  for (const folder of Object.keys(LAYOUT)) {
    it(`${folder}/ imports only what the table allows`, () => {
      const all = sources(join(ROOT, folder)).flatMap(importsOf);
      expect(all.map((one) => problem(folder, one)).filter((text) => text !== null)).toEqual([]);
    });
  }

  it("the check can fail", () => {
    const bad = { file: "core/x.ts", target: "../db/runs.ts", typeOnly: false };
    expect(problem("core", bad)).toContain("may not import db/");
    expect(problem("workflows", { file: "workflows/x.ts", target: "zod", typeOnly: false })).toContain("zod");
    expect(
      problem("workflows", { file: "workflows/x.ts", target: "../activities/types.ts", typeOnly: false }),
    ).not.toBeNull();
    expect(
      problem("workflows", { file: "workflows/x.ts", target: "../activities/types.ts", typeOnly: true }),
    ).toBeNull();
  });
});

describe("layout: core and workflows are deterministic", () => {
  const FORBIDDEN: readonly [RegExp, string][] = [
    [/\bnew Date\(\s*\)/, "a clock"],
    [/\bDate\.now\b/, "a clock"],
    [/\bTemporal\.Now\b/, "a clock"],
    [/\bMath\.random\b/, "randomness"],
    [/\bprocess\./, "the process"],
    [/\bset(Timeout|Interval|Immediate)\(/, "a timer"],
    [/\blocaleCompare\b/, "collation"],
  ];
  for (const folder of ["core", "workflows"]) {
    it(`${folder}/ has no clock, randomness, timer or process`, () => {
      const found = sources(join(ROOT, folder)).flatMap((path) => {
        const text = code(path);
        const rules: readonly [RegExp, string][] = path.includes("core/calendar")
          ? FORBIDDEN
          : [...FORBIDDEN, [/\bIntl\./, "time-zone data"]];
        return (
          rules
            .filter(([pattern]) => pattern.test(text))
            // Temporal's stand-in for it, the same in a replay.
            .filter(([, what]) => !(path.endsWith("workflows/now.ts") && what === "a clock"))
            .map(([, what]) => `${relative(ROOT, path)}: ${what}`)
        );
      });
      expect(found).toEqual([]);
    });
  }

  it("no workflow reaches core/calendar, whose zone data changes with Node", () => {
    const seen = new Set<string>();
    const walk = (path: string): void => {
      if (seen.has(path)) return;
      seen.add(path);
      for (const { target, typeOnly } of importsOf(path)) {
        if (target.startsWith(".") && !typeOnly) walk(resolve(dirname(path), target));
      }
    };
    walk(join(ROOT, "workflows/index.ts"));
    expect([...seen].filter((path) => path.includes("core/calendar"))).toEqual([]);
    expect(seen.size).toBeGreaterThan(5);
  });
});

describe("layout: files stay small", () => {
  it("no source file is past 400 lines", () => {
    const long = Object.keys(LAYOUT)
      .filter((folder) => folder !== "test")
      .flatMap((folder) => sources(join(ROOT, folder)))
      .filter((path) => readFileSync(path, "utf8").split("\n").length > 400);
    expect(long.map((path) => relative(ROOT, path))).toEqual([]);
  });
});
