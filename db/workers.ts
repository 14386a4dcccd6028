import type { Db } from "./connection.ts";

/** A queue that a worker process serves, and how full it is there. */
export interface ServedQueue {
  readonly queue: string;
  readonly tries: number;
  readonly max_tries: number;
}

/** What a killed worker left is of no use to anybody after so long. */
const FORGOTTEN = "interval '1 day'";

/** A worker process lives, and serves these queues. */
export async function beatWorker(db: Db, worker: string, queues: readonly ServedQueue[]): Promise<void> {
  await db.query(
    `with forgotten as (delete from app.worker w where w.seen_at < app.now() - ${FORGOTTEN})
     insert into app.worker (queue, worker, tries, max_tries)
     select q.queue, $1, q.tries, q.max_tries
     from jsonb_to_recordset($2::jsonb) as q(queue text, tries integer, max_tries integer)
     on conflict (queue, worker) do update
       set tries = excluded.tries, max_tries = excluded.max_tries, seen_at = excluded.seen_at`,
    [worker, JSON.stringify(queues)],
  );
}

/** A worker process takes nothing more of these queues. */
export async function endWorker(db: Db, worker: string, queues: readonly string[]): Promise<void> {
  await db.query("delete from app.worker where worker = $1 and queue = any ($2)", [worker, queues]);
}
