import { proxyActivities } from "@temporalio/workflow";
import type { BareActivities } from "./activities.ts";

const { noop, fibo, startRuns } = proxyActivities<BareActivities>({ startToCloseTimeout: "1 minute" });

/** Ends at once: the price of a workflow itself. */
export async function empty(): Promise<void> {}

/** One task after the other. */
export async function chain(tasks: number, fiboOf: number | null): Promise<void> {
  for (let task = 0; task < tasks; task += 1) await (fiboOf === null ? noop() : fibo(fiboOf));
}

/** A root, many in parallel, a join. */
export async function fanOut(width: number): Promise<void> {
  await noop();
  await roots(width);
  await noop();
}

/** Tasks that wait for nothing. */
export async function roots(tasks: number): Promise<void> {
  await Promise.all(Array.from({ length: tasks }, () => noop()));
}

/** Many tasks, never more than `inFlight` at once. */
export async function mapped(items: number, inFlight: number): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < items) {
      next += 1;
      await noop();
    }
  };
  await Promise.all(Array.from({ length: Math.min(items, inFlight) }, lane));
}

/** What the Schedule starts: one tick that starts everything due by client calls. */
export async function tick(ids: readonly string[], tasks: number): Promise<void> {
  await startRuns(ids, tasks);
}
