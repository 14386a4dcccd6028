import type { Sample } from "./contestant.ts";
import { mean, median, percentile } from "./statistics.ts";
import { taskCount, type Workload } from "./workloads.ts";

/** What one contestant did in all repetitions of a workload. Seconds, but for `tasksPerSecond` and CPU. */
export interface Figures {
  /** The figure of the row, in the workload's unit: median over repetitions. */
  readonly headline: number;
  readonly spread: readonly [min: number, max: number];
  readonly n: number;
  /** CPU of servers, database and worker together; null where the system does not tell. */
  readonly cpuMsPerTask: number | null;
  readonly details: Readonly<Record<string, number>>;
}

/** Until when a repetition is timed: the last task's end for bursts (the clients do not wait for runs), else the driver's. */
function endOf(workload: Workload, sample: Sample): number {
  const { kind } = workload.shape;
  if (kind !== "burst" && kind !== "clock") return sample.end;
  return sample.tasks.reduce((latest, task) => Math.max(latest, task.endedAt), sample.t0);
}

function secondsOf(workload: Workload, sample: Sample): number {
  return (endOf(workload, sample) - sample.t0) / 1_000;
}

/** Time from one task's end to the next one's start, in a chain. */
function gaps(sample: Sample): number[] {
  const sorted = sample.tasks.toSorted((a, b) => a.startedAt - b.startedAt);
  return sorted.slice(1).map((task, index) => (task.startedAt - (sorted[index]?.endedAt ?? 0)) / 1_000);
}

function firstStart(sample: Sample): number {
  return (Math.min(...sample.tasks.map((task) => task.startedAt)) - sample.t0) / 1_000;
}

function dueToStart(samples: readonly Sample[]): number[] {
  return samples.flatMap((sample) => sample.tasks.map((task) => (task.startedAt - sample.t0) / 1_000));
}

function details(workload: Workload, samples: readonly Sample[]): Record<string, number> {
  const endToEnd = median(samples.map((sample) => secondsOf(workload, sample)));
  switch (workload.shape.kind) {
    case "empty":
      return { endToEnd };
    case "chain": {
      const all = samples.flatMap(gaps);
      return {
        endToEnd,
        gapMean: mean(all),
        gapP50: percentile(all, 0.5),
        gapP99: percentile(all, 0.99),
        triggerToFirstStart: median(samples.map(firstStart)),
      };
    }
    case "fan-out":
    case "mapped":
      return { endToEnd, triggerToFirstStart: median(samples.map(firstStart)) };
    case "burst":
    case "clock": {
      const waits = dueToStart(samples);
      return {
        endToEnd,
        dueToStartP50: percentile(waits, 0.5),
        dueToStartP99: percentile(waits, 0.99),
        dueToStartP999: percentile(waits, 0.999),
        allRunsClosed: median(samples.map((sample) => (sample.end - sample.t0) / 1_000)),
      };
    }
  }
}

/** Figures of one contestant from its samples and the CPU (ms) each of them cost. */
export function figures(
  workload: Workload,
  samples: readonly Sample[],
  cpuMs: readonly (number | null)[],
): Figures {
  const tasks = taskCount(workload.shape);
  const seconds = samples.map((sample) => secondsOf(workload, sample));
  const values = workload.unit === "s" ? seconds : seconds.map((value) => tasks / value);
  const known = cpuMs.filter((value) => value !== null);
  return {
    headline: median(values),
    spread: [Math.min(...values), Math.max(...values)],
    n: samples.length,
    cpuMsPerTask: known.length === cpuMs.length ? mean(known) / tasks : null,
    details: details(workload, samples),
  };
}
