import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { createProgram } from "../../cli/main.ts";
import { SETTINGS } from "../../platform/config.ts";
import { LAYOUT } from "../layout.ts";
import { DOCUMENTS, read, ROOT } from "./generated.ts";

/** Found in all documents: `[document, what was captured]`. */
function findAll(pattern: RegExp): [string, string][] {
  return DOCUMENTS.flatMap((path) =>
    [...read(path).matchAll(pattern)].map((match): [string, string] => [path, match[1]!]),
  );
}

const slug = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .trim()
    .replaceAll(" ", "-");

describe("what documents name exists", () => {
  it("links to files, and to headings in them", () => {
    const broken = findAll(/\]\(([^)\s]+)\)/g).filter(([path, target]) => {
      if (/^https?:/.test(target)) return false;
      const [file = "", anchor] = target.split("#");
      const whole = file === "" ? join(ROOT, path) : join(ROOT, dirname(path), file);
      if (!existsSync(whole)) return true;
      if (anchor === undefined) return false;
      const headings = [...read(whole.slice(ROOT.length)).matchAll(/^#+ (.*)$/gm)].map((match) =>
        slug(match[1]!),
      );
      return !headings.includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  it("npm scripts", () => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    const own = new Set([
      "install",
      "install-test",
      "ci",
      "pack",
      "test",
      "start",
      "exec",
      ...Object.keys(scripts),
    ]);
    expect(findAll(/npm run (?:-s )?([\w:-]+)/g).filter(([, name]) => !(name in scripts))).toEqual([]);
    expect(findAll(/npm (?!run\b)([a-z][\w:-]*)/g).filter(([, name]) => !own.has(name))).toEqual([]);
  });

  it("commands of the command line", () => {
    const names = new Set<string>();
    const walk = (command: Command, path: string): void => {
      for (const below of command.commands) {
        names.add(`${path}${below.name()}`);
        walk(below, `${path}${below.name()} `);
      }
    };
    walk(createProgram(), "");
    const groups = new Set(
      [...names].filter((name) => name.includes(" ")).map((name) => name.split(" ")[0]!),
    );
    const wrong = findAll(
      /(?:`meridian|cli\/meridian\.mjs|npm run meridian --) ([a-z]+(?: [a-z][a-z-]*)?)/g,
    ).filter(([, text]) => !names.has(groups.has(text.split(" ")[0]!) ? text : text.split(" ")[0]!));
    expect(wrong).toEqual([]);
  });

  it("settings", () => {
    const known = new Set<string>(Object.values(SETTINGS).map(({ env }) => env));
    const others = /^MERIDIAN_(CONN_[A-Z]+|TEST_(DATABASE_URL|TEMPORAL_ADDRESS|FULL))$|^TEMPORAL_CLI_PATH$/;
    const wrong = findAll(/\b((?:MERIDIAN|TEMPORAL|DATABASE)_[A-Z_]+)\b/g).filter(
      ([, name]) => !known.has(name) && !others.test(name),
    );
    expect(wrong).toEqual([]);
  });

  it("files named in backticks", () => {
    const folders = Object.keys(LAYOUT).join("|");
    const wrong = findAll(new RegExp(`\`((?:${folders}|docs)/[\\w./-]+\\.\\w+)\``, "g")).filter(
      ([, path]) => !existsSync(join(ROOT, path)),
    );
    expect(wrong).toEqual([]);
  });

  it("CONTRIBUTING lists every folder", () => {
    const listed = [...read("CONTRIBUTING.md").matchAll(/^\| `(\w+)\/` \|/gm)].map((match) => match[1]!);
    expect(listed.sort()).toEqual(Object.keys(LAYOUT).sort());
  });

  it("every decision is listed, has its four parts and fits a screen", () => {
    const files = readdirSync(join(ROOT, "docs/adr"))
      .filter((name) => /^\d{4}-/.test(name))
      .sort();
    expect(files.map((name) => Number(name.slice(0, 4)))).toEqual(files.map((_, i) => i + 1));
    for (const [i, name] of files.entries()) {
      const text = read(`docs/adr/${name}`);
      const title = /^# (\d+)\. (.*)$/m.exec(text)!;
      expect(Number(title[1]), name).toBe(i + 1);
      expect(read("docs/adr/README.md"), name).toContain(`${i + 1}. [${title[2]}](${name})`);
      expect(
        [...text.matchAll(/^## (.*)$/gm)].map((match) => match[1]),
        name,
      ).toEqual(["Context", "Decision", "Consequences", "A change breaks this when…"]);
      expect(text.split("\n").length, name).toBeLessThan(60);
    }
  });

  it("ids in test titles are rows, cases or rules that are written down", () => {
    const known = new Set(
      [...`${read("docs/requirements.md")}${read("docs/cases.md")}`.matchAll(/^\| ([A-FKP]\d+) \|/gm)].map(
        (match) => match[1]!,
      ),
    );
    expect(known.size).toBeGreaterThan(150);
    const titles = readdirSync(join(ROOT, "test"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".test.ts"))
      .flatMap((name) =>
        [
          ...read(`test/${name}`).matchAll(
            /\b(?:it|describe|test)(?:\.\w+)*\(\s*["'`]((?:[A-FKP]\d{1,2}[ :,(]+)+)/g,
          ),
        ].map((match) => [name, match[1]!]),
      );
    const ids = titles.flatMap(([name, text]) =>
      [...text!.matchAll(/[A-FKP]\d+/g)].map((match) => [name, match[0]]),
    );
    expect(ids.length).toBeGreaterThan(100);
    expect(ids.filter(([, id]) => !known.has(id!))).toEqual([]);
  });
});
