import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runDag } from "../../authoring/local.ts";
import { loadDags } from "../../processor/validate.ts";
import { DOCUMENTS, read, ROOT } from "./generated.ts";

interface Snippet {
  readonly name: string;
  readonly text: string;
  /** What the fence says behind `ts`: `run` it here and it succeeds; it is a `test` and passes. */
  readonly kind: string;
}

/** TypeScript in documents, but for what is a file's text already. */
const SNIPPETS: readonly Snippet[] = DOCUMENTS.flatMap((path) =>
  [...read(path).matchAll(/(<!-- from: .*-->\n)?```ts ?(\w*)\n([\s\S]*?)```/g)]
    .filter((match) => match[1] === undefined)
    .map((match, i) => ({
      name: `${path.replaceAll(/\W/g, "_")}_${i + 1}`,
      kind: match[2]!,
      text: match[3]!,
    })),
);

// Inside the project, so that `meridian` and packages resolve as they do for an author.
const folder = join(ROOT, ".meridian", `test-docs-${randomUUID()}`);
const fileOf = ({ name }: Snippet): string => join(folder, `${name}.ts`);
const run = promisify(execFile);

beforeAll(() => {
  mkdirSync(folder, { recursive: true });
  for (const snippet of SNIPPETS) writeFileSync(fileOf(snippet), snippet.text);
  const config = { extends: "../../tsconfig.json", include: ["*.ts"], exclude: [] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("A1 F1: TypeScript in documents", () => {
  it("is there, of each kind", () => {
    expect(new Set(SNIPPETS.map(({ kind }) => kind))).toEqual(new Set(["", "run", "test"]));
  });

  it("compiles by the project's own rules, and the check can fail", { timeout: 120_000 }, async () => {
    writeFileSync(join(folder, "wrong.ts"), "export const wrong: string = 1;\n");
    const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
    const failure = await run(process.execPath, [tsc, "--noEmit", "-p", folder], { cwd: ROOT }).catch(
      (error: unknown) => error as { stdout: string },
    );
    const lines = failure.stdout.trim().split("\n");
    expect(lines, failure.stdout).toHaveLength(1);
    expect(lines[0]).toContain("wrong.ts(1,14): error TS2322");
  });

  for (const snippet of SNIPPETS.filter(({ kind }) => kind !== "test")) {
    it(`${snippet.name} defines DAGs${snippet.kind === "run" ? ", whose runs succeed" : ""}`, async () => {
      const dags = await loadDags(fileOf(snippet), folder);
      expect(dags.length).toBeGreaterThan(0);
      if (snippet.kind !== "run") return;
      for (const dag of dags) {
        const { state, tasks } = await runDag(dag, { logicalAt: "2026-05-09" });
        expect(state, JSON.stringify(tasks)).toBe("success");
      }
    });
  }

  for (const snippet of SNIPPETS.filter(({ kind }) => kind === "test")) {
    it(`${snippet.name} passes`, { timeout: 60_000 }, async () => {
      await run(process.execPath, ["--import", import.meta.resolve("tsx"), fileOf(snippet)], { cwd: ROOT });
    });
  }
});
