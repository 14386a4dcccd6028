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

const DAG_COLUMNS = `
  d.dag_id, d.file, d.description, d.owner, d.tags, d.timetable, d.paused, d.pause_reason, d.paused_by, d.active,
  d.next_due_at, d.uncovered, d.version::float8 as version, v.number as version_number,
  exists (select from app.dag_file f where f.path = d.file and f.error is not null) as import_error
from app.dag d left join app.dag_version v on v.version = d.version`;

export interface DagFilter {
  /** Part of the id or the description, in any case. */
  readonly search: string | null;
  readonly tag: string | null;
  readonly paused: boolean | null;
  readonly active: boolean | null;
  /** State of the run with the newest logical date. */
  readonly state: RunState | null;
}

// One index look-up per DAG for `state`, and only when it is asked for.
const MATCHES = `
  ($1::text is null or d.dag_id ilike $1 or d.description ilike $1)
  and ($2::text is null or d.tags @> array[$2::text])
  and ($3::boolean is null or d.paused = $3)
  and ($4::boolean is null or d.active = $4)
  and ($5::text is null or $5 = (
    select r.state from app.dag_run r where r.dag_id = d.dag_id order by r.logical_at desc, r.run desc limit 1))`;

const filterValues = (f: DagFilter): unknown[] => [
  f.search === null ? null : `%${f.search.replaceAll(/[\\%_]/g, "\\$&")}%`,
  f.tag,
  f.paused,
  f.active,
  f.state,
];

/** DAGs by id, after `after`. */
export async function readDags(
  db: Db,
  filter: DagFilter,
  page: { after: string; limit: number },
): Promise<DagRow[]> {
  const { rows } = await db.query<DagRow>(
    `select ${DAG_COLUMNS} where ${MATCHES} and d.dag_id > $6 order by d.dag_id limit $7`,
    [...filterValues(filter), page.after, page.limit],
  );
  return rows;
}

export async function countDags(db: Db, filter: DagFilter): Promise<number> {
  const { rows } = await db.query<{ total: number }>(
    `select count(*)::int as total from app.dag d where ${MATCHES}`,
    filterValues(filter),
  );
  return rows[0]!.total;
}

export async function readDag(db: Db, dagId: string): Promise<DagRow | null> {
  const { rows } = await db.query<DagRow>(`select ${DAG_COLUMNS} where d.dag_id = $1`, [dagId]);
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
