import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";
import type { EmbeddedOptions } from "../../../../platform/embedded/index.ts";

export interface Product {
  readonly child: ChildProcess;
  readonly lines: Record<string, unknown>[];
  /** The line that holds this key; fails when the process ends without one. */
  line(key: string): Promise<Record<string, unknown>>;
  ended(): Promise<void>;
}

const SCRIPT = fileURLToPath(new URL("./product.ts", import.meta.url));
const TSX = import.meta.resolve("tsx");

type ProductOptions = Partial<Omit<EmbeddedOptions, "log" | "env">> & { readonly home: string };

const children: ChildProcess[] = [];
// A test that fails must not leave its product running. (Hooks run last first: before folders go.)
afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
});

/** Starts the embedded parts in a process of its own, in a group of its own, with a bare environment. */
export function startProduct(options: ProductOptions, env: Record<string, string> = {}): Product {
  const all = { postgres: true, temporal: true, databases: ["meridian"], ...options };
  const child = spawn(process.execPath, ["--import", TSX, SCRIPT, JSON.stringify(all)], {
    detached: true,
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  const lines: Record<string, unknown>[] = [];
  const waiting = new Set<() => void>();
  let over = false;
  const closed = new Promise<void>((resolve) => {
    child.once("close", () => {
      over = true;
      resolve();
      for (const look of waiting) look();
    });
  });
  createInterface({ input: child.stdout }).on("line", (text) => {
    lines.push(JSON.parse(text) as Record<string, unknown>);
    for (const look of waiting) look();
  });
  const line = (key: string) =>
    new Promise<Record<string, unknown>>((resolve, reject) => {
      const look = () => {
        const found = lines.find((one) => key in one);
        if (found !== undefined) resolve(found);
        else if (over) reject(new Error(`ended without "${key}": ${JSON.stringify(lines)}`));
        else return;
        waiting.delete(look);
      };
      waiting.add(look);
      look();
    });
  return { child, lines, line, ended: () => closed };
}
