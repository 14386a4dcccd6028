import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createDueRuns, type CreateRunsDeps } from "../../schedules/create-runs.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { fakeTemporal, intervalsOf, storeDag, type FakeTemporal, type GivenDag } from "./rows.ts";

let database: TestDatabase;
let temporal: FakeTemporal;
let errors: string[];
let now: number;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(async () => await database.drop());
beforeEach(async () => {
  await database.pool.query(
    "truncate app.dag, app.dag_version, app.run_key, app.dag_run, app.lease, app.account",
  );
  temporal = fakeTemporal();
  errors = [];
});

const at = (instant: string): void => {
  now = Date.parse(instant);
};
const deps = (more: Partial<CreateRunsDeps> = {}): CreateRunsDeps => ({
  pool: database.pool,
  starter: temporal.starter(database.pool),
  clock: () => now,
  onError: (error, what) => errors.push(`${what}: ${error.message}`),
  ...more,
});
/** Stored long ago: its clock is the test's. */
async function store(dag: GivenDag): Promise<void> {
  await storeDag(database.pool, dag);
  await database.pool.query("update app.dag set next_due_at = $2 where dag_id = $1", [dag.id, dag.startDate]);
}
const daily = (id: string, more: Partial<GivenDag> = {}): GivenDag => ({
  id,
  schedule: "@daily",
  startDate: "2026-05-01T00:00:00Z",
  catchup: true,
  ...more,
});

describe("A3 B3: createRuns", () => {
  it("named-by-a-slow-clock: what was just stored is looked at though the database's clock is ahead of ours", async () => {
    await storeDag(database.pool, daily("a"));
    at("2026-05-03T00:00:00Z");
    expect(await createDueRuns(deps()), "by its own clock it is not due").toBe(0);
    expect(await createDueRuns(deps(), 0, 1, ["a"])).toBe(2);
    const { rows } = await database.pool.query("select next_due_at from app.dag");
    expect(rows[0].next_due_at.toISOString()).toBe("2026-05-04T00:00:00.000Z");
    expect(await createDueRuns(deps(), 0, 1, ["a"]), "a second look").toBe(0);
    expect(temporal.started).toEqual(["run.a.2026-05-01T00-00-00Z", "run.a.2026-05-02T00-00-00Z"]);
  });

  it("one-bad-calendar: a DAG that cannot be worked out does not hold up the others, and is tried again later", async () => {
    for (const id of ["a", "bad", "c"]) await store(daily(id));
    // A kind of timetable that only a newer version of the code knows.
    await database.pool.query(`update app.dag set timetable = '{"kind":"lunar"}' where dag_id = 'bad'`);
    at("2026-05-02T00:00:30Z");
    expect(await createDueRuns(deps())).toBe(2);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain(`dag "bad": its next runs cannot be worked out`);
    at("2026-05-02T00:01:00Z");
    await createDueRuns(deps());
    expect(errors, "not looked at within the minute").toHaveLength(1);
    await database.pool.query(
      `update app.dag set timetable = (select timetable from app.dag where dag_id = 'a') where dag_id = 'bad'`,
    );
    at("2026-05-02T00:01:30Z");
    expect(await createDueRuns(deps())).toBe(1);
    expect(await intervalsOf(database.pool, "bad")).toEqual(await intervalsOf(database.pool, "a"));
  });

  it("pages: 60 DAGs that missed 100 intervals each are made 2,000 runs at a time, oldest first", async () => {
    const ids = Array.from({ length: 60 }, (_, i) => `dag_${i}`);
    for (const id of ids) await store(daily(id, { schedule: "@hourly", maxActiveRuns: 1 }));
    at("2026-05-05T04:00:00Z");
    const pages: number[] = [];
    let before = 0;
    const onPage = (created: number): void => {
      pages.push(created - before);
      before = created;
    };
    expect(await createDueRuns(deps({ onPage }))).toBe(60 * 100);
    expect(Math.max(...pages)).toBeLessThanOrEqual(2000);
    expect(pages.length).toBeLessThan(7);
    const { rows } = await database.pool.query(
      `select d.dag_id, array_agg(d.logical_at order by l.seq) = array_agg(d.logical_at order by d.logical_at) as in_order,
              count(*)::integer as runs, count(l.granted_at)::integer as granted
       from app.dag_run d join app.lease l on l.run = d.run group by 1`,
    );
    expect(rows).toHaveLength(60);
    for (const row of rows) expect(row).toMatchObject({ in_order: true, runs: 100, granted: 1 });
    expect(temporal.started.toSorted()).toEqual(ids.map((id) => `run.${id}.2026-05-01T00-00-00Z`).toSorted());
  });

  it("start-fails: a run that cannot be started stays granted for the outbox; the tick goes on", async () => {
    for (const id of ["a", "b", "c"]) await store(daily(id));
    temporal.onStart = async (id) => {
      if (id.startsWith("run.b")) throw new Error("unavailable");
    };
    at("2026-05-02T00:00:00Z");
    expect(await createDueRuns(deps())).toBe(3);
    expect(temporal.started.toSorted()).toEqual(["run.a.2026-05-01T00-00-00Z", "run.c.2026-05-01T00-00-00Z"]);
    expect(errors).toEqual(["starting b 2026-05-01T00-00-00Z failed; it will be tried again: unavailable"]);
    const { rows } = await database.pool.query(
      `select d.dag_id, l.known, l.tell_after > app.now() as later from app.lease l join app.dag_run d using (run)
       where d.dag_id = 'b' and l.granted_at is not null`,
    );
    expect(rows).toEqual([{ dag_id: "b", known: false, later: true }]);
  });

  it("all-or-nothing: a tick that breaks between run and cursor leaves neither", async () => {
    await store(daily("a"));
    await database.pool.query(
      "alter table app.dag add constraint no_cursor check (cursor_at is null) not valid",
    );
    at("2026-05-03T00:00:00Z");
    await expect(createDueRuns(deps())).rejects.toThrow("no_cursor");
    await database.pool.query("alter table app.dag drop constraint no_cursor");
    expect(await intervalsOf(database.pool, "a")).toEqual([]);
    expect(temporal.started).toEqual([]);
    expect(await createDueRuns(deps())).toBe(2);
  });

  it("inactive, paused and version-less DAGs get no run, named or not", async () => {
    for (const id of ["inactive", "paused", "empty"]) await store(daily(id));
    await database.pool.query("update app.dag set active = dag_id <> 'inactive', paused = dag_id = 'paused'");
    await database.pool.query("update app.dag set version = null where dag_id = 'empty'");
    at("2026-05-05T00:00:00Z");
    expect(await createDueRuns(deps())).toBe(0);
    expect(await createDueRuns(deps(), 0, 1, ["inactive", "paused", "empty", "nobody"])).toBe(0);
  });

  it("each DAG belongs to one of the shards, whatever their number", async () => {
    const ids = Array.from({ length: 12 }, (_, i) => `dag_${i}`);
    for (const [i, id] of ids.entries()) await store(daily(id, { shard: i * 79 }));
    at("2026-05-02T00:00:00Z");
    const made = await Promise.all(
      [0, 1, 2, 3, 4].map(async (shard) => await createDueRuns(deps(), shard, 5)),
    );
    expect(made.reduce((a, b) => a + b, 0)).toBe(12);
    expect(made.every((count) => count > 0)).toBe(true);
    at("2026-05-03T00:00:00Z");
    expect(await createDueRuns(deps(), 0, 1)).toBe(12);
  });

  it("A3: a run by hand that took a date is not made again, and the calendar goes on behind it", async () => {
    await store(daily("a"));
    await database.pool.query(
      `select * from app.create_runs(jsonb_build_array(jsonb_build_object('dag_id', 'a', 'run_id', '2026-05-02T00-00-00Z',
         'run_type', 'manual', 'logical_at', '2026-05-02T00:00:00Z', 'start_at', '2026-05-02T00:00:00Z',
         'end_at', '2026-05-03T00:00:00Z', 'version', (select version from app.dag), 'who', 'ada')))`,
    );
    at("2026-05-04T00:00:00Z");
    expect(await createDueRuns(deps())).toBe(2);
    const { rows } = await database.pool.query(
      "select run_id, run_type from app.dag_run order by logical_at",
    );
    expect(rows.map((row) => row.run_type)).toEqual(["scheduled", "manual", "scheduled"]);
  });
});
