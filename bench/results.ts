import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { dirname } from "node:path";
import type { ContestantName } from "./contestant.ts";
import type { Figures } from "./figures.ts";
import type { ServerKind } from "./servers.ts";
import type { Workload, WorkloadId } from "./workloads.ts";

/** A value of each contestant; null for one that did not run. */
type Pair<T> = Readonly<Record<ContestantName, T | null>>;

/** One workload's entry in the results file. `ratio` is ours / bare: below 1 is better for "s", above 1 for "tasks/s". */
export interface Result extends Pair<number> {
  readonly ratio: number | null;
  readonly unit: Workload["unit"];
  /** Repetitions of each contestant. */
  readonly n: number;
  /** Lowest and highest repetition. */
  readonly spread: Pair<readonly [number, number]>;
  readonly server: ServerKind;
  /** Over server, database and worker. */
  readonly cpuMsPerTask: Pair<number>;
  /** The other figures of the workload, in seconds. */
  readonly details: Pair<Readonly<Record<string, number>>>;
  readonly date: string;
}

interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly platform: string;
  readonly node: string;
}

export interface ResultsFile {
  readonly machine: Machine;
  readonly date: string;
  readonly workloads: Partial<Record<WorkloadId, Result>>;
  /** Measured without a bare contestant: figures by what they say and their unit. */
  readonly extra?: Readonly<Record<string, Extra>>;
}

interface Extra {
  readonly date: string;
  readonly figures: Readonly<Record<string, number>>;
}

function thisMachine(): Machine {
  const all = cpus();
  return {
    cpu: all[0]?.model.trim() ?? "unknown",
    cores: all.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    platform: `${process.platform}-${process.arch}`,
    node: process.version,
  };
}

/** The entry of a workload from what each contestant did. */
export function toResult(
  workload: Workload,
  server: ServerKind,
  found: Partial<Record<ContestantName, Figures>>,
): Result {
  const pair = <T>(pick: (figures: Figures) => T | null): Pair<T> => ({
    ours: found.ours ? pick(found.ours) : null,
    bare: found.bare ? pick(found.bare) : null,
  });
  const headline = pair((figures) => rounded(figures.headline));
  return {
    ...headline,
    ratio: found.ours && found.bare ? rounded(found.ours.headline / found.bare.headline) : null,
    unit: workload.unit,
    n: Math.min(...Object.values(found).map((figures) => figures.n)),
    spread: pair(({ spread: [low, high] }) => [rounded(low), rounded(high)] as const),
    server,
    cpuMsPerTask: pair((figures) => (figures.cpuMsPerTask === null ? null : rounded(figures.cpuMsPerTask))),
    details: pair((figures) =>
      Object.fromEntries(Object.entries(figures.details).map(([name, value]) => [name, rounded(value)])),
    ),
    date: new Date().toISOString(),
  };
}

/** Adds these entries to the file. Others stay if they come from the same machine, and are dropped if not. */
export function writeResults(file: string, workloads: ResultsFile["workloads"]): void {
  write(file, workloads, {});
}

/** Replaces what a bench of its own found; the rest as `writeResults`. */
export function writeExtra(file: string, id: string, figures: Extra["figures"]): void {
  write(file, {}, { [id]: { date: new Date().toISOString(), figures } });
}

function write(
  file: string,
  workloads: ResultsFile["workloads"],
  extra: NonNullable<ResultsFile["extra"]>,
): void {
  const machine = thisMachine();
  const before = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as ResultsFile) : undefined;
  const kept = JSON.stringify(before?.machine) === JSON.stringify(machine) ? before : undefined;
  const after: ResultsFile = {
    machine,
    date: new Date().toISOString(),
    workloads: { ...kept?.workloads, ...workloads },
    extra: { ...kept?.extra, ...extra },
  };
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(after, null, 2)}\n`);
}

/** Four significant digits: more would pretend. */
function rounded(value: number): number {
  return Number(value.toPrecision(4));
}
