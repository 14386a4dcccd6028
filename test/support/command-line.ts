/** What commands print, read. */
import { expect } from "vitest";
import type { WholeProduct } from "./whole-product.ts";

/** A DAG with all that goes wrong. */
export const TROUBLE = `import { dag, task, taskGroup } from "meridian";
export const trouble = dag("trouble.one", { schedule: null, maxActiveRuns: 4, tags: ["odd"], owner: "anna" }, () => {
  const fails = task("fails", { retries: 1, retryDelay: "1s" }, ({ log, try: number }) => {
    log.info(\`line of try \${number} 💼\`);
    throw new Error("it broke\\n\\u001b[31min two lines");
  });
  task("waits", { pool: "nowhere" }, ({ log }) => log.info("it runs"));
  taskGroup("load", { label: "Load" }, () => {
    task("never", { after: [fails] }, () => 1);
  });
});
`;

/** A file that does not load. */
export const BROKEN = `import { dag } from "meridian";
throw new Error("it is broken");
dag("broken", {}, () => {});
`;

export const lines = (text: string): string[] => text.split("\n").filter((line) => line !== "");

type Run = (...args: string[]) => ReturnType<WholeProduct["meridian"]>;

export function printedBy(run: Run) {
  /** What a command prints in JSON; nothing else may be on stdout. */
  async function json<T>(...args: string[]): Promise<T> {
    const { code, stdout, stderr } = await run(...args, "--output", "json");
    expect([args, code, stderr]).toEqual([args, 0, stderr]);
    return JSON.parse(stdout) as T;
  }

  /** The rows of a table, cut at its columns. */
  async function table(...args: string[]): Promise<Record<string, string>[]> {
    const { code, stdout, stderr } = await run(...args);
    expect([args, code, stderr]).toEqual([args, 0, stderr]);
    expect(stdout, "no colour where nobody looks").not.toContain("\u001B");
    const [head = "", ...rows] = lines(stdout);
    const starts = [...head.matchAll(/\S+/g)].map((match) => [match[0], match.index] as const);
    return rows.map((row) =>
      Object.fromEntries(
        starts.map(([name, at], i) => [name, row.slice(at, starts[i + 1]?.[1]).trim()] as const),
      ),
    );
  }

  return { json, table };
}
