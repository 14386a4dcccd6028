import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { ContestantName } from "./contestant.ts";
import { isBuilt } from "./server/paths.ts";
import type { ServerKind } from "./servers.ts";
import { WORKLOAD_IDS, type WorkloadId, type Workload, workloads } from "./workloads.ts";

export interface BenchOptions {
  readonly workloads: readonly Workload[];
  readonly server: ServerKind;
  readonly contestants: readonly ContestantName[];
  readonly out: string;
}

export const USAGE = `npm run bench -- [WORKLOAD ...] [options]

  WORKLOAD        ${WORKLOAD_IDS.join(" ")}; default: all but W0, with --smoke also without W3cron
  --server KIND   dev | postgres; default: postgres once \`npm run bench:server\` has built it
  --only NAME     bare | ours; default: both, taking turns
  --smoke         tiny sizes: shows that the bench works, measures nothing
  --out FILE      default: bench/results/latest.json, with --smoke a temporary file
  --help`;

/** What the command line asks for; null for --help. A mistake is an error that says what is allowed. */
export function readOptions(args: readonly string[]): BenchOptions | null {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      server: { type: "string" },
      only: { type: "string" },
      smoke: { type: "boolean", default: false },
      out: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return null;
  const named = positionals.map((name) => oneOf("workload", name, WORKLOAD_IDS));
  const server = values.server ?? (isBuilt() ? "postgres" : "dev");
  const only = values.only ?? "both";
  const chosen = oneOf("--server", server, ["dev", "postgres"] as const);
  if (chosen === "postgres" && !isBuilt())
    throw new Error("bench: --server postgres needs the built server: npm run bench:server");
  const contestant = oneOf("--only", only, ["both", "bare", "ours"] as const);
  return {
    workloads: workloads({ smoke: values.smoke }).filter((workload) => isChosen(workload, named)),
    server: chosen,
    contestants: contestant === "both" ? ["bare", "ours"] : [contestant],
    out: resolve(values.out ?? defaultOut(values.smoke)),
  };
}

function isChosen(workload: Workload, named: readonly WorkloadId[]): boolean {
  return named.length === 0 ? !workload.onRequest : named.includes(workload.id);
}

/** Where results go unless another file is named. */
export function defaultOut(smoke: boolean): string {
  return smoke
    ? join(tmpdir(), `meridian-bench-smoke-${process.pid}.json`)
    : join(import.meta.dirname, "results/latest.json");
}

function oneOf<T extends string>(what: string, given: string, allowed: readonly T[]): T {
  const found = allowed.find((name) => name === given);
  if (found === undefined)
    throw new Error(`bench: ${what} "${given}" does not exist; one of: ${allowed.join(", ")}`);
  return found;
}
