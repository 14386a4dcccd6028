import type { Timetable } from "../../core/calendar/timetable.ts";
import type { SerialGraph } from "../../core/graph.ts";
import type { RunState } from "../../core/states.ts";
import type { Db } from "../connection.ts";

export interface DagRow {
  readonly dag_id: string;
  readonly file: string;
  readonly description: string;
  readonly owner: string;
  readonly tags: string[];
  readonly timetable: Timetable;
  readonly paused: boolean;
  readonly pause_reason: string | null;
  readonly paused_by: string | null;
  readonly active: boolean;
  readonly next_due_at: Date | null;
  readonly uncovered: unknown;
  readonly version: number | null;
  readonly version_number: number | null;
  readonly import_error: boolean;
}

const DAG_COLUMNS = (dags = "app.dag d"): string => `
  d.dag_id, d.file, d.description, d.owner, d.tags, d.timetable, d.paused, d.pause_reason, d.paused_by, d.active,
  d.next_due_at, d.uncovered, d.version::float8 as version, v.number as version_number,
  exists (select from app.dag_file f where f.path = d.file and f.error is not null) as import_error
from ${dags} left join app.dag_version v on v.version = d.version`;

export interface DagFilter {
  /** Part of the id or the description, in any case. */
  readonly search: string | null;
  readonly tags: readonly string[] | null;
  /** All of the tags, or one of them. */
  readonly allTags: boolean;
  /** One of them. */
  readonly owners: readonly string[] | null;
  readonly paused: boolean | null;
  readonly active: boolean | null;
  readonly importError: boolean | null;
  /** State of the run with the newest logical date. */
  readonly state: RunState | null;
}

// Two look-ups per DAG for `state`, and only when it is asked for: the ledger is one table, where the runs' own index is
// one for each month (20,000 DAGs in 8 months: 0.15 s against 0.3 s).
const LAST_STATE = `
  $8 = (
    select r.state from app.dag_run r where r.run = (
      select k.run from app.run_key k where k.dag_id = d.dag_id order by k.logical_at desc, k.fork desc limit 1))`;

/** Of these there are fewer runs than DAGs, so that only the DAGs that have one are looked up. */
const IS_RARE: Readonly<Record<RunState, boolean>> = {
  queued: true,
  running: true,
  cancelled: true,
  success: false,
  failed: false,
};
const HAS_SUCH_RUN = "d.dag_id in (select o.dag_id from app.dag_run o where o.state = $8)";

const matches = ({ state }: DagFilter): string => `
  ($1::text is null or d.dag_id ilike $1 or d.description ilike $1)
  and ($2::text[] is null or case when $3 then d.tags @> $2 else d.tags && $2 end)
  and ($4::text[] is null or d.owner = any ($4))
  and ($5::boolean is null or d.paused = $5)
  and ($6::boolean is null or d.active = $6)
  and ($7::boolean is null
       or $7 = exists (select from app.dag_file f where f.path = d.file and f.error is not null))
  and ($8::text is null or (${state !== null && IS_RARE[state] ? `${HAS_SUCH_RUN} and ` : ""}${LAST_STATE}))`;

/** Text for `ilike` that finds what holds it. */
export const holding = (text: string | null): string | null =>
  text === null ? null : `%${text.replaceAll(/[\\%_]/g, "\\$&")}%`;

const filterValues = (f: DagFilter): unknown[] => [
  holding(f.search),
  f.tags,
  f.allTags,
  f.owners,
  f.paused,
  f.active,
  f.importError,
  f.state,
];

export const DAG_SORTS = ["dagId", "-dagId", "nextDueAt", "-nextDueAt"] as const;
export type DagSort = (typeof DAG_SORTS)[number];

/** Where a page ends. `due` is in microseconds, as text; null: no run is due ever, and when it is not sorted by. */
export interface DagKey {
  readonly dagId: string;
  readonly due: string | null;
}

/** A DAG that makes no runs now stands behind all others. */
const DUE = "coalesce(case when d.active and not d.paused then d.next_due_at end, 'infinity')";
const AFTER_DUE = `coalesce('epoch'::timestamptz + $10::bigint * interval '1 microsecond', 'infinity')`;

/** What comes after the key ($9 its id or null, $10 its due time), and in which order. */
const SORTS: Record<DagSort, { readonly after: string; readonly order: string }> = {
  dagId: { after: "m.dag_id > $9", order: "m.dag_id" },
  "-dagId": { after: "m.dag_id < $9", order: "m.dag_id desc" },
  nextDueAt: { after: `(m.due, m.dag_id) > (${AFTER_DUE}, $9)`, order: "m.due, m.dag_id" },
  "-nextDueAt": { after: `(m.due, m.dag_id) < (${AFTER_DUE}, $9)`, order: "m.due desc, m.dag_id desc" },
};

/**
 * DAGs after `after` in the order of `sort`, and how many there are over all pages. What matches is worked out once
 * for both: it reads every DAG, which takes a few milliseconds for each thousand of them.
 */
export async function readDags(
  db: Db,
  filter: DagFilter,
  page: { sort: DagSort; after: DagKey | null; limit: number },
): Promise<{ total: number; rows: (DagRow & { readonly due_us: string | null })[] }> {
  const { after, order } = SORTS[page.sort];
  const { rows } = await db.query<DagRow & { dag_id: string | null; due_us: string | null; total: number }>(
    `with matching as materialized (select d.dag_id, ${DUE} as due from app.dag d where ${matches(filter)}),
     page as (
       select m.* from matching m where ($9::text is null and $10::bigint is null) or ${after}
       order by ${order} limit $11),
     shown as (
       select m.due, case when m.due < 'infinity' then (extract(epoch from m.due) * 1000000)::bigint::text end as due_us,
         ${DAG_COLUMNS("page m join app.dag d using (dag_id)")})
     select t.total, m.* from (select count(*)::int as total from matching) t left join shown m on true
     order by ${order}`,
    [...filterValues(filter), page.after?.dagId ?? null, page.after?.due ?? null, page.limit],
  );
  return { total: rows[0]!.total, rows: rows.filter((row) => row.dag_id !== null) };
}

/** What the active DAGs can be filtered by, with how many have it. */
export async function readDagFacets(
  db: Db,
): Promise<{ readonly kind: "tag" | "owner"; readonly name: string; readonly dags: number }[]> {
  const { rows } = await db.query<{ kind: "tag" | "owner"; name: string; dags: number }>(
    `select 'tag' as kind, t.name, count(*)::int as dags
     from app.dag d cross join lateral (select distinct unnest(d.tags) as name) t where d.active group by t.name
     union all
     select 'owner', d.owner, count(*)::int from app.dag d where d.active and d.owner <> '' group by d.owner
     order by 1, 2`,
  );
  return rows;
}

export interface DagDetailRow extends DagRow {
  readonly version_since: Date | null;
  readonly number_before: number | null;
}

export async function readDag(db: Db, dagId: string): Promise<DagDetailRow | null> {
  const { rows } = await db.query<DagDetailRow>(
    `select d.version_since, (select b.number from app.dag_version b where b.version = d.version_before) as number_before,
            ${DAG_COLUMNS()} where d.dag_id = $1`,
    [dagId],
  );
  return rows[0] ?? null;
}

export interface LastRunRow {
  readonly dag_id: string;
  readonly run_id: string;
  readonly state: RunState;
  readonly logical_at: Date;
}

/** The `limit` newest runs of each DAG by logical date, oldest first. */
export async function readLastRuns(db: Db, dagIds: readonly string[], limit: number): Promise<LastRunRow[]> {
  const { rows } = await db.query<LastRunRow>(
    `select d.dag_id, r.run_id, r.state, r.logical_at
     from unnest($1::text[]) as d (dag_id)
     cross join lateral (
       select x.run, x.run_id, x.state, x.logical_at from app.dag_run x
       where x.dag_id = d.dag_id order by x.logical_at desc, x.run desc limit $2) r
     order by r.logical_at, r.run`,
    [dagIds, limit],
  );
  return rows;
}

export async function readGraph(db: Db, version: number): Promise<SerialGraph | null> {
  const { rows } = await db.query<{ graph: SerialGraph }>(
    "select graph from app.dag_version where version = $1",
    [version],
  );
  return rows[0]?.graph ?? null;
}

export interface VersionRow {
  readonly number: number;
  readonly hash: string;
  readonly file: string;
  readonly created_at: Date;
}

/** Versions of a DAG, newest first. */
export async function readVersions(db: Db, dagId: string, limit: number): Promise<VersionRow[]> {
  const { rows } = await db.query<VersionRow>(
    `select number, hash, file, created_at from app.dag_version
     where dag_id = $1 order by number desc limit $2`,
    [dagId, limit],
  );
  return rows;
}
