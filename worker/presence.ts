import { beatWorker, endWorker, type ServedQueue } from "../db/workers.ts";
import type { Pool } from "../db/connection.ts";
import { Loop, type Life } from "../platform/life.ts";
import type { Log } from "../platform/log.ts";

/** A third of the time after which a silent worker is taken as dead (`db/read/not-begun.ts`). */
const BEAT_MS = 5_000;

export interface PresenceDeps {
  readonly pool: Pool;
  readonly log: Log;
  readonly workerId: string;
  /** How full this process is now. */
  readonly served: () => readonly ServedQueue[];
}

/** Tells which queues this process serves, so that people are told of a task that nobody will take. Ends with `life`. */
export function startPresence({ pool, log, workerId, served }: PresenceDeps, life: Life): void {
  const loop = new Loop("presence", BEAT_MS, log, async () => await beatWorker(pool, workerId, served()));
  loop.start();
  life.onEnd("presence", async () => {
    await loop.end();
    await endWorker(
      pool,
      workerId,
      served().map(({ queue }) => queue),
    );
  });
}
