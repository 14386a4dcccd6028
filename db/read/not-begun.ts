import { RUNS_QUEUE, whyNotBegun, type QueueWorkers } from "../../core/not-begun.ts";
import { queueFor, type QueueRules } from "../../core/queue-rules.ts";
import type { Db } from "../connection.ts";

/**
 * Of a lease `l`: its try has had its slots for longer than any begin takes, and no worker has taken it up. Longer than
 * the time between two beats of a worker too, so that a full one has said so.
 */
export const NOT_BEGUN = `(l.task_id <> '' and l.granted_at < app.now() - interval '6 seconds' and not exists (
  select from app.task_try t
  where t.run = l.run and t.task_id = l.task_id and t.map_index = l.map_index and t.try = l.try and t.state <> 'deferred'))`;

/** A worker that has said nothing for so long is taken as dead: three of its beats (`worker/presence.ts`). */
const SILENT = "interval '15 seconds'";

const NOBODY: QueueWorkers = { workers: 0, tries: 0, maxTries: 0 };

interface Try {
  readonly run: number;
  readonly task_id: string;
}

/** Rows of tries that have not begun (`NOT_BEGUN`) with the reason why; others stay as they are. Looked up as one reads. */
export async function withReasons<
  T extends Try & { readonly not_begun: boolean; readonly reason: string | null },
>(db: Db, rows: readonly T[]): Promise<T[]> {
  const tries = rows.filter((row) => row.not_begun);
  if (tries.length === 0) return [...rows];
  const [queues, workers] = await Promise.all([queuesOf(db, tries), workersByQueue(db)]);
  const runs = workers.get(RUNS_QUEUE) ?? NOBODY;
  return rows.map((row) => {
    if (!row.not_begun) return row;
    const queue = queues.get(keyOf(row)) ?? RUNS_QUEUE;
    return { ...row, reason: whyNotBegun(queue, workers.get(queue) ?? NOBODY, runs) };
  });
}

const keyOf = ({ run, task_id }: Try): string => `${run} ${task_id}`;

/** Where the limits in force put them. */
async function queuesOf(db: Db, tries: readonly Try[]): Promise<Map<string, string>> {
  const { rows } = await db.query<Try & { queue: string; tenant: string | null; rules: QueueRules | null }>(
    `select r.run, g.task->>'id' as task_id, g.task->>'queue' as queue, d.tenant,
            (select l.spec->'queues' from app.limits l order by l.id desc limit 1) as rules
     from app.dag_run r join app.dag_version v on v.version = r.version left join app.dag d on d.dag_id = r.dag_id
     cross join lateral jsonb_array_elements(v.graph->'tasks') as g(task)
     where r.run = any ($1::bigint[]) and g.task->>'id' = any ($2::text[])`,
    [[...new Set(tries.map((row) => row.run))], [...new Set(tries.map((row) => row.task_id))]],
  );
  return new Map(
    rows.map((row) => {
      const answer = queueFor({ id: row.task_id, queue: row.queue }, row.tenant, row.rules ?? {});
      return [keyOf(row), "queue" in answer ? answer.queue : RUNS_QUEUE];
    }),
  );
}

async function workersByQueue(db: Db): Promise<Map<string, QueueWorkers>> {
  const { rows } = await db.query<QueueWorkers & { queue: string }>(
    `select queue, count(*)::integer as workers, sum(tries)::integer as tries, sum(max_tries)::integer as "maxTries"
     from app.worker where seen_at >= app.now() - ${SILENT} group by queue`,
  );
  return new Map(rows.map((row) => [row.queue, row]));
}
