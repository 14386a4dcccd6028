import { setTimeout as sleep } from "node:timers/promises";
import type { ContestantName, Sample } from "./contestant.ts";
import { cpuMs } from "./cpu.ts";
import { type Figures, figures } from "./figures.ts";
import type { RemoteContestant } from "./remote.ts";
import { taskCount, type Workload } from "./workloads.ts";

/** Lets the server finish what it does behind an answer (visibility, timers), so that it burdens nobody else. */
const SETTLE_MS = 300;

interface Measured {
  readonly samples: Sample[];
  readonly cpu: (number | null)[];
}

/** Repetitions of one workload, contestants taking turns after one warm-up each. */
export async function measure(
  workload: Workload,
  contestants: readonly RemoteContestant[],
  serverPids: readonly number[],
): Promise<Partial<Record<ContestantName, Figures>>> {
  for (const contestant of contestants) {
    await checkedRun(contestant, workload);
    await sleep(SETTLE_MS);
  }
  const all = new Map<RemoteContestant, Measured>(contestants.map((c) => [c, { samples: [], cpu: [] }]));
  for (let repetition = 0; repetition < workload.repetitions; repetition += 1) {
    for (const [contestant, { samples, cpu }] of all) {
      const pids = [...serverPids, contestant.pid];
      const before = cpuMs(pids);
      samples.push(await checkedRun(contestant, workload));
      const after = cpuMs(pids);
      cpu.push(before === null || after === null ? null : after - before);
      await sleep(SETTLE_MS);
    }
  }
  return Object.fromEntries(
    [...all].map(([{ name }, { samples, cpu }]) => [name, figures(workload, samples, cpu)]),
  );
}

/** A repetition that lost or doubled a task is no measurement. */
async function checkedRun(contestant: RemoteContestant, workload: Workload): Promise<Sample> {
  const sample = await contestant.run(workload);
  const expected = workload.shape.kind === "empty" ? 0 : taskCount(workload.shape);
  if (sample.tasks.length !== expected) {
    throw new Error(
      `bench: ${workload.id}: "${contestant.name}" ran ${sample.tasks.length} tasks instead of ${expected}`,
    );
  }
  return sample;
}
