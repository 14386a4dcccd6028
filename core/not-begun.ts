/** Whom a queue has, by what its workers say of themselves. */
export interface QueueWorkers {
  readonly workers: number;
  /** Under way in all of them, and the most they take. */
  readonly tries: number;
  readonly maxTries: number;
}

/** The queue whose workers also move runs on. */
export const RUNS_QUEUE = "default";

/**
 * Why a try that has its slots has not begun (F16). `runs`: whom the default queue has. The slots stay with the try: by
 * the account book it is under way.
 */
export function whyNotBegun(queue: string, own: QueueWorkers, runs: QueueWorkers): string {
  if (own.workers === 0) return `${noWorker(queue)}; the try keeps its slots until then`;
  if (runs.workers === 0) return `${noWorker(RUNS_QUEUE)}: its workers also move runs on`;
  if (own.tries >= own.maxTries) {
    const workers = own.workers === 1 ? "the only worker" : `all ${own.workers} workers`;
    return `${workers} of queue "${queue}" ${own.workers === 1 ? "is" : "are"} busy: ${own.tries} of ${own.maxTries} tries under way (MERIDIAN_MAX_TRIES); start another with MERIDIAN_QUEUES=${queue}`;
  }
  return `it has its slots, and a worker of queue "${queue}" has room: its run or Temporal is behind`;
}

const noWorker = (queue: string): string =>
  `no worker serves queue "${queue}"; start one with MERIDIAN_QUEUES=${queue}`;
