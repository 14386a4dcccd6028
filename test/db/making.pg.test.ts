import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { setPaused } from "../../db/dag-rows.ts";
import { suspectRuns } from "../../db/pools/reconcile.ts";
import { takeUntold } from "../../db/pools/outbox.ts";
import { admissionPass } from "../../db/pools/pass.ts";
import { advance } from "../../db/pools/advance.ts";
import { closeRuns, createRuns, openRun, runsStarted, type FirstRow, type NewRun } from "../../db/runs.ts";
import { recordTries } from "../../db/tries.ts";
import { storeDag } from "../schedules/rows.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

let db: TestDatabase;
let version: number;

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(async () => await db.drop());
beforeEach(async () => {
  await db.pool.query(
    "truncate app.dag, app.dag_version, app.run_key, app.dag_run, app.lease, app.account, app.cell, app.task_try",
  );
  await storeDag(db.pool, {
    id: "d",
    schedule: "@daily",
    startDate: "2026-01-01T00:00:00Z",
    maxActiveRuns: 2,
  });
  await db.pool.query("insert into app.account (key, slots) values ('pool:p', 3)");
  ({ version } = (await db.pool.query<{ version: number }>("select version from app.dag")).rows[0]!);
});

const FIRST: readonly FirstRow[] = ["a", "b"].map((task_id) => ({
  task_id,
  map_index: -1,
  account: "pool:p",
  slots: 1,
  priority: 1,
}));
const of = (day: number, more: Partial<NewRun> = {}): NewRun => ({
  dag_id: "d",
  run_id: `day${day}`,
  run_type: "scheduled",
  logical_at: `2026-01-0${day}T00:00:00Z`,
  start_at: `2026-01-0${day}T00:00:00Z`,
  end_at: `2026-01-0${day + 1}T00:00:00Z`,
  version,
  who: "test",
  first: FIRST,
  ...more,
});
const cells = async () =>
  (
    await db.pool.query<{ cell: string }>(
      "select d.run_id || '.' || c.task_id || '=' || c.state as cell from app.cell c join app.dag_run d using (run) order by 1",
    )
  ).rows.map((row) => row.cell);
const states = async () =>
  Object.fromEntries(
    (
      await db.pool.query<{ run_id: string; state: string }>("select run_id, state from app.dag_run")
    ).rows.map((row) => [row.run_id, row.state]),
  );
const laterOn = async () => await db.pool.query("update app.lease set tell_after = app.now()");

describe("B3: runs are made, opened and asked for in one statement", () => {
  it("those with a place have their first grants, as many as the pool has; the others wait untouched", async () => {
    const made = await createRuns(db.pool, [of(1), of(2), of(3)]);
    expect(made.map((run) => [run.run_id, run.created, run.granted])).toEqual([
      ["day1", true, true],
      ["day2", true, true],
      ["day3", true, false],
    ]);
    expect(made.map((run) => run.grants?.toSorted() ?? null)).toEqual([["a", "b"], ["a"], null]);
    expect(made[0]!.undecided, "a pass gives the reason of what waits").toBe(true);
    expect(await cells()).toEqual(["day1.a=queued", "day1.b=queued", "day2.a=queued", "day2.b=queued"]);
    expect(new Set(Object.values(await states()))).toEqual(new Set(["queued"]));

    await runsStarted(db.pool, [made[0]!.run]);
    expect(await states()).toEqual({ day1: "running", day2: "queued", day3: "queued" });
    await laterOn();
    const untold = await takeUntold(db.pool, 10, 1000);
    expect(
      untold.filter((grant) => grant.task_id === "").map((grant) => grant.run_id),
      "the outbox starts the run that Temporal does not have",
    ).toEqual(["day2"]);
    expect(
      untold.filter((grant) => grant.task_id !== "").map((grant) => `${grant.run_id}.${grant.task_id}`),
      "and tells no run of its tries before",
    ).toEqual(["day1.a", "day1.b"]);
  });

  it("a run whose start was lost opens itself and is answered the same grants", async () => {
    const [made] = await createRuns(db.pool, [of(1)]);
    expect((await openRun(db.pool, made!.run))!.state).toBe("running");
    const requests = FIRST.map((first) => ({ run: made!.run, try: 1, ...first }));
    const { grants } = await advance(db.pool, [made!.run], [], requests);
    expect(grants.map((grant) => grant.task_id).toSorted()).toEqual(["a", "b"]);
    const { rows } = await db.pool.query(
      "select sum(slots)::integer as used from app.lease where account = 'pool:p'",
    );
    expect(rows[0].used).toBe(2);
  });

  it("a run that opens by itself asks for nothing when it is made", async () => {
    const [made] = await createRuns(db.pool, [of(1, { first: null })]);
    expect(made).toMatchObject({ granted: true, grants: null });
    expect(await cells()).toEqual([]);
  });

  it("K71: the same date twice in one statement is one run, made once; answers come in the order asked", async () => {
    const made = await createRuns(db.pool, [of(2), of(1), of(2)]);
    expect(made.map((run) => run.run_id)).toEqual(["day2", "day1", "day2"]);
    expect(made.filter((run) => run.created)).toHaveLength(2);
    expect(made[0]!.run).toBe(made[2]!.run);
  });

  it("first come: a new run never passes one that waits, though a place is free", async () => {
    const [one, two] = await createRuns(db.pool, [of(1), of(2), of(3)]);
    await closeRuns(db.pool, [closing(one!.run), closing(two!.run)]);
    const [four] = await createRuns(db.pool, [of(4)]);
    expect(four!.granted, "three waited, then four: both have a place").toBe(true);
    const { rows } = await db.pool.query(
      "select d.run_id from app.lease l join app.dag_run d using (run) where l.task_id = '' and l.granted_at is not null order by 1",
    );
    expect(rows.map((row) => row.run_id)).toEqual(["day3", "day4"]);
  });

  it("a place that goes to an older run is told by the outbox at once", async () => {
    const [one] = await createRuns(db.pool, [of(1), of(2), of(3)]);
    await closeRuns(db.pool, [closing(one!.run)]);
    const [four] = await createRuns(db.pool, [of(4)]);
    expect(four!.granted).toBe(false);
    expect((await takeUntold(db.pool, 10, 1000)).map((grant) => grant.run_id)).toEqual(["day3"]);
  });

  it("a run that closes before its start was marked has a start; what closes together is one statement", async () => {
    const made = await createRuns(db.pool, [of(1), of(2)]);
    const at = new Date().toISOString();
    const key = { run: made[0]!.run, task_id: "a", map_index: -1, try: 1 };
    await recordTries(db.pool, [{ ...key, worker: "w", at, inputs: {} }], []);
    await closeRuns(
      db.pool,
      made.map((run) => closing(run.run)),
    );
    await runsStarted(
      db.pool,
      made.map((run) => run.run),
    );
    const { rows } = await db.pool.query("select state, started_at from app.dag_run order by run_id");
    expect(rows.map((row) => row.state)).toEqual(["success", "success"]);
    expect(rows[0].started_at.toISOString()).toBe(at);
    expect(rows[1].started_at).not.toBeNull();
    expect((await db.pool.query("select from app.lease")).rowCount).toBe(0);
  });
});

describe("B12: a paused DAG", () => {
  it("its scheduled runs that wait for a place are held, with the reason; unpaused they get it", async () => {
    const [one, two] = await createRuns(db.pool, [of(1), of(2), of(3)]);
    await setPaused(db.pool, "d", true, "ada", "late data");
    await closeRuns(db.pool, [closing(one!.run), closing(two!.run)]);
    expect(await admissionPass(db.pool)).toBe(0);
    const waiting = async () =>
      (await db.pool.query("select reason from app.lease where task_id = '' and granted_at is null")).rows;
    expect(await waiting()).toEqual([{ reason: "its dag is paused" }]);
    const [manual] = await createRuns(db.pool, [of(4, { run_type: "manual" })]);
    expect(manual!.granted, "what a person asks for is not held, and waits behind nothing that is").toBe(
      true,
    );
    await setPaused(db.pool, "d", false, "ada", null);
    expect(await admissionPass(db.pool)).toBe(1);
    expect(await waiting()).toEqual([]);
  });

  it("pausing while its runs are made and granted by others comes to no deadlock", async () => {
    let day = 1;
    await Promise.all(
      Array.from({ length: 8 }, async (_, lane) => {
        for (let i = 0; i < 25; i++) {
          if (lane === 0) await setPaused(db.pool, "d", i % 2 === 0, "ada", null);
          else if (lane === 1) await admissionPass(db.pool);
          else {
            const at = new Date(Date.UTC(2027, 0, day++)).toISOString();
            const [made] = await createRuns(db.pool, [of(1, { run_id: at, logical_at: at })]);
            if (made!.granted) await closeRuns(db.pool, [closing(made!.run)]);
          }
        }
      }),
    );
    const { rows } = await db.pool.query(
      "select count(*)::integer as n from app.lease where task_id = '' and granted_at is not null",
    );
    expect(rows[0].n).toBeLessThanOrEqual(2);
  });
});

describe("B11: who is asked for by the reconciler", () => {
  it("not a run that Temporal does not have yet; and each run has its turn", async () => {
    await db.pool.query("update app.account set slots = 100 where key = 'runs:d'");
    const made = await createRuns(
      db.pool,
      [1, 2, 3, 4, 5].map((day) => of(day)),
    );
    await db.pool.query(
      "update app.lease set told_at = app.now() - interval '1 hour' where granted_at is not null",
    );
    expect(await suspectRuns(db.pool, 1000, 10, 0)).toEqual([]);
    const runs = made.map((run) => run.run);
    await runsStarted(db.pool, runs);
    await db.pool.query(
      "update app.lease set told_at = app.now() - interval '1 hour' where granted_at is not null",
    );
    const first = await suspectRuns(db.pool, 1000, 3, 0);
    const rest = await suspectRuns(db.pool, 1000, 3, first.at(-1)!.run);
    expect([...first, ...rest].map((run) => run.run)).toEqual(runs);
    expect(first[0]!.granted!.toSorted()).toEqual(["a.1", "b.1"]);
  });
});

function closing(run: number) {
  return { run, records: [], state: "success" as const, reason: null, progress: null };
}
