import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { isUnchanged, planLimits } from "../../core/limits-diff.ts";
import { NO_LIMITS, type LimitsFile, type LimitsRule } from "../../core/limits-file.ts";
import { applyLimits, countOf } from "../../db/apply-limits.ts";
import { readLimitsNow } from "../../db/limits-now.ts";
import { readLimits } from "../../db/limits.ts";
import { advance } from "../../db/pools/advance.ts";
import { deletePool, setPool } from "../../db/pools/change.ts";
import { admissionPass } from "../../db/pools/pass.ts";
import type { PackedProgress } from "../../core/packed.ts";
import { closeRuns, createRuns, reopenRun } from "../../db/runs.ts";
import { AccountBook, ask } from "../support/account-book.ts";

let book: AccountBook;
beforeAll(async () => {
  book = await AccountBook.make();
  await book.db.pool.query(
    `insert into app.dag (dag_id, file, timetable, timetable_hash, max_active_runs, shard, owner, tags)
     select x.id, x.id || '.ts', '{"kind":"manual"}', 'h', 1000, 0, x.owner, x.tags
     from (values ('sales_eu', 'ann', array['close']), ('sales_us', 'bob', '{}'), ('lab', 'research', '{}')) as x(id, owner, tags)`,
  );
});
afterAll(async () => await book.db.drop());
beforeEach(async () => {
  await book.clear();
  await book.db.pool.query(
    `truncate app.limits, app.audit, app.dag_run, app.run_key;
     update app.dag set tenant = null, class = 1;
     update app.account set slots = 128 where key = 'pool:default_pool'`,
  );
});

const apply = async (file: Partial<LimitsFile>, ifCurrent?: number | null, who = "ann@cli") =>
  await applyLimits(book.db.pool, { file: { ...NO_LIMITS, ...file }, who, ifCurrent });

async function accounts(): Promise<Record<string, unknown>[]> {
  const { rows } = await book.db.pool.query<Record<string, unknown>>(
    `select key, slots, cohort, most, core_hours from app.account
     where key ~ '^(pool|adhoc|tenant|cohort):' and key <> 'pool:default_pool' order by key`,
  );
  return rows.map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)));
}

async function places(table: "dag" | "dag_run"): Promise<Record<string, string>> {
  const { rows } = await book.db.pool.query<{ id: string; tenant: string | null; class: number }>(
    table === "dag"
      ? "select dag_id as id, tenant, class from app.dag order by dag_id"
      : "select dag_id || ' ' || run_type || ' ' || triggered_by as id, tenant, class from app.dag_run order by run",
  );
  return Object.fromEntries(rows.map((row) => [row.id, `${row.tenant} ${row.class}`]));
}

let dates = 0;
async function newRun(
  dag: string,
  runType: "manual" | "scheduled" | "backfill",
  who: string,
): Promise<number> {
  const at = new Date(Date.UTC(2027, 0, 1) + dates++ * 60_000).toISOString();
  const [run] = await createRuns(book.db.pool, [
    {
      dag_id: dag,
      run_id: at,
      run_type: runType,
      logical_at: at,
      start_at: at,
      end_at: at,
      version: book.version,
      who,
      first: null,
    },
  ]);
  return run!.run;
}

const limitsOf = async (task: string): Promise<string[]> => {
  const { rows } = await book.db.pool.query<{ limits: string[] }>(
    "select limits from app.lease where task_id = $1",
    [task],
  );
  return rows[0]!.limits;
};

const SALES: Partial<LimitsFile> = {
  pools: { warehouse: { slots: 8, description: "loads", scheduledFloor: 3 }, small: { slots: 2 } },
  cohorts: { data: { slots: 10 } },
  tenants: { sales: { slots: 6, cohort: "data", most: 9, coreHoursPerDay: 4.5 }, lab: { slots: 2 } },
  rules: [
    { caller: "*@ci", class: "best_effort" },
    { tag: "close", tenant: "sales", class: "critical" },
    { dags: "sales_*", tenant: "sales" },
    { owner: "research", tenant: "lab" },
  ],
};

describe("B12: a limits file is applied", () => {
  it("B12: writes its accounts, the places of DAGs and of runs that are open, its row and an audit row", async () => {
    await setPool(book.db.pool, { name: "other", slots: 5, description: null, floor: null, who: "t" });
    await newRun("sales_eu", "scheduled", "schedule");
    await newRun("sales_eu", "backfill", "ann@cli");
    await newRun("sales_us", "manual", "bot@ci");
    await newRun("lab", "manual", "ann@cli");
    const done = await apply(SALES);
    expect(done).toMatchObject({ kind: "applied", row: { who: "ann@cli" } });
    expect(await accounts()).toEqual([
      { key: "adhoc:warehouse", slots: 5 },
      { key: "cohort:data", slots: 10 },
      { key: "pool:other", slots: 5 },
      { key: "pool:small", slots: 2 },
      { key: "pool:warehouse", slots: 8 },
      { key: "tenant:lab", slots: 2 },
      { key: "tenant:sales", slots: 6, cohort: "data", most: 9, core_hours: 4.5 },
    ]);
    expect(await places("dag")).toEqual({
      d: "null 1",
      lab: "lab 1",
      sales_eu: "sales 2",
      sales_us: "sales 1",
    });
    expect(await places("dag_run")).toEqual({
      "sales_eu scheduled schedule": "sales 2",
      "sales_eu backfill ann@cli": "sales 0",
      "sales_us manual bot@ci": "sales 0",
      "lab manual ann@cli": "lab 1",
    });
    const row = await readLimits(book.db.pool);
    expect(row).toMatchObject({ who: "ann@cli", spec: { ...NO_LIMITS, ...SALES } });
    const { rows } = await book.db.pool.query(
      "select who, detail from app.audit where action = 'apply_limits'",
    );
    expect(rows).toEqual([
      { who: "ann@cli", detail: expect.objectContaining({ id: row!.id, before: null, dags: 3, runs: 4 }) },
    ]);
  });

  it("B12: what is no longer in the file goes, but pools; leases draw on what is now", async () => {
    await apply({ ...SALES, rules: [{ tenant: "sales" }] });
    const run = await book.newRun();
    await advance(book.db.pool, [run], [], [ask(run, "t", "warehouse")]);
    expect(await limitsOf("t")).toEqual(["adhoc:warehouse", "cohort:data", "tenant:sales"]);
    await apply({ tenants: { lab: { slots: 1 } }, rules: [{ dags: "d", tenant: "lab", class: "critical" }] });
    expect(await limitsOf("t")).toEqual(["tenant:lab"]);
    const { rows } = await book.db.pool.query("select class from app.lease where task_id = 't'");
    expect(rows).toEqual([{ class: 2 }]);
    expect((await accounts()).map(({ key }) => key)).toEqual(["pool:small", "pool:warehouse", "tenant:lab"]);
    await apply({});
    expect(await limitsOf("t")).toEqual([]);
    expect(await places("dag")).toMatchObject({ d: "null 1", lab: "null 1" });
  });

  it("B12: a tenant that shrinks below what it has in use gets nothing more, and loses nothing", async () => {
    const of = (slots: number): Partial<LimitsFile> => ({
      pools: { p: { slots: 9 } },
      tenants: { a: { slots } },
      rules: [{ dags: "d", tenant: "a" }],
    });
    await apply(of(3));
    const run = await book.newRun();
    await advance(book.db.pool, [run], [], [ask(run, "t1", "p"), ask(run, "t2", "p"), ask(run, "t3", "p")]);
    await apply(of(1));
    await advance(book.db.pool, [run], [], [ask(run, "t4", "p")]);
    await admissionPass(book.db.pool);
    expect(await book.tasks("granted")).toEqual(["t1", "t2", "t3"]);
    expect(await book.reasonOf("t4")).toContain("3 of 1");
  });

  it("B12: an apply that was planned against other limits is refused, and writes nothing", async () => {
    const first = await apply(SALES, null);
    const { id } = (first as { row: { id: number } }).row;
    expect(await apply({}, null)).toMatchObject({ kind: "outdated", row: { id, who: "ann@cli" } });
    expect(await apply({}, id - 1)).toMatchObject({ kind: "outdated" });
    expect(await places("dag")).toMatchObject({ lab: "lab 1" });
    // Of several at the same time one alone is the next.
    const kinds = (
      await Promise.all([1, 2, 3, 4].map(async (n) => await apply({ adhoc: { maxCores: n } }, id)))
    ).map(({ kind }) => kind);
    expect(kinds.sort()).toEqual(["applied", "outdated", "outdated", "outdated"]);
    // What is in force already is not written again.
    const now = (await readLimits(book.db.pool))!;
    expect(await apply(now.spec)).toMatchObject({ kind: "unchanged", row: { id: now.id } });
  });

  it("B12: applies beside runs that are made: each run ends up where the file in force says", async () => {
    const of = (tenant: string): Partial<LimitsFile> => ({
      tenants: { [tenant]: { slots: 5 } },
      rules: [{ dags: "d", tenant }],
    });
    await Promise.all([
      ...["a", "b", "c"].map(async (tenant) => await apply(of(tenant))),
      ...Array.from({ length: 20 }, async () => await newRun("d", "scheduled", "schedule")),
    ]);
    const { rows } = await book.db.pool.query(
      `select distinct r.tenant = d.tenant as same, d.tenant = l.spec -> 'rules' -> 0 ->> 'tenant' as right
       from app.dag_run r join app.dag d using (dag_id), (select spec from app.limits order by id desc limit 1) l`,
    );
    expect(rows).toEqual([{ same: true, right: true }]);
  });

  it("B12: a run that goes on after its end is where the limits in force say", async () => {
    await apply(SALES);
    const run = await newRun("lab", "manual", "bot@ci");
    await closeRuns(book.db.pool, [{ run, records: [], state: "failed", reason: null, progress: null }]);
    await apply({ rules: [{ dags: "lab", class: "critical" }] });
    expect(await places("dag_run")).toEqual({ "lab manual bot@ci": "lab 1" });
    await book.db.pool.query("insert into app.account (key, slots) values ('runs:lab', 1)");
    await reopenRun(book.db.pool, run, [], {} as PackedProgress, null);
    expect(await places("dag_run")).toEqual({ "lab manual bot@ci": "null 2" });
  });

  it("B12: property: once applied, a plan of the same file shows nothing, whatever was before", async () => {
    const name = fc.constantFrom("a", "b", "c");
    const slots = fc.integer({ min: 0, max: 9 });
    const rule: fc.Arbitrary<LimitsRule> = fc.record(
      {
        dags: fc.constantFrom("*", "sales_*", "d", "l?b"),
        owner: fc.constantFrom("ann", "research"),
        tag: fc.constantFrom("close", "c*"),
        caller: fc.constantFrom("*@ci", "ann@*"),
        tenant: name,
        class: fc.constantFrom("critical", "standard", "best_effort"),
      },
      { requiredKeys: [] },
    );
    const files: fc.Arbitrary<LimitsFile> = fc.record({
      pools: fc.dictionary(
        fc.constantFrom("p", "q"),
        fc.record(
          {
            slots: fc.integer({ min: 5, max: 9 }),
            description: fc.constantFrom("x", "y"),
            scheduledFloor: fc.nat(5),
          },
          { requiredKeys: ["slots"] },
        ),
      ),
      cohorts: fc.dictionary(name, fc.record({ slots })),
      tenants: fc.dictionary(
        name,
        fc.record(
          { slots, cohort: name, most: slots, coreHoursPerDay: fc.double({ min: 0, max: 100, noNaN: true }) },
          { requiredKeys: ["slots"] },
        ),
      ),
      rules: fc.array(rule, { maxLength: 5 }),
      adhoc: fc.record({ maxCores: slots }, { requiredKeys: [] }),
      queues: fc.dictionary(
        name,
        fc.record({ tenants: fc.array(name), otherwise: fc.constant("refuse" as const) }),
      ),
      rates: fc.array(fc.record({ per: fc.constant("dag" as const), triggers: slots, withinMs: fc.nat(9) }), {
        maxLength: 3,
      }),
      queued: fc.record({ mostRuns: slots, timeoutMs: slots }, { requiredKeys: [] }),
    });
    for (const [dag, type, who] of [
      ["sales_eu", "scheduled", "schedule"],
      ["sales_us", "backfill", "ann@cli"],
      ["lab", "manual", "bot@ci"],
      ["lab", "manual", "ann@cli"],
      ["d", "manual", "bob@cli"],
    ] as const)
      await newRun(dag, type, who);
    await fc.assert(
      fc.asyncProperty(files, async (file) => {
        const before = planLimits((await readLimitsNow(book.db.pool)).now, file);
        const done = await apply(file);
        // What was planned is what was done.
        if (done.kind === "outdated") throw new Error("outdated");
        expect(done.plan.changes).toEqual(before.changes);
        const { now } = await readLimitsNow(book.db.pool);
        const after = planLimits(now, file);
        expect(after).toEqual({ changes: [], dags: [], runs: [] });
        expect(isUnchanged(now, file, after)).toBe(true);
        expect(countOf(after.runs)).toBe(0);
      }),
      { seed: 12, numRuns: 60 },
    );
  });
});

describe("B17: a pool keeps slots from runs by hand", () => {
  const adhoc = async () => (await accounts()).filter(({ key }) => String(key).startsWith("adhoc:"));
  const set = async (slots: number) =>
    await setPool(book.db.pool, { name: "p", slots, description: null, floor: null, who: "t" });

  it("B17: the floor stays when the pool is resized, goes with it, and comes back with the file", async () => {
    await apply({ pools: { p: { slots: 10, scheduledFloor: 4 } } });
    expect(await adhoc()).toEqual([{ key: "adhoc:p", slots: 6 }]);
    await set(7);
    expect(await adhoc()).toEqual([{ key: "adhoc:p", slots: 3 }]);
    await expect(set(3)).rejects.toThrow("its scheduled floor is 4, more than its 3 slots");
    expect(await deletePool(book.db.pool, "p", "t")).toBe(true);
    expect(await adhoc()).toEqual([]);
    // What waits for the pool by then draws on it as a whole.
    const run = await book.newRun();
    await advance(book.db.pool, [run], [], [ask(run, "t", "p")]);
    expect(await limitsOf("t")).toEqual([]);
    await set(9);
    expect(await adhoc()).toEqual([]);
    // The plan shows what was changed beside the file.
    const { now } = await readLimitsNow(book.db.pool);
    expect(planLimits(now, now.file).changes).toEqual([
      {
        what: "pool",
        name: "p",
        before: "9 slots",
        after: "10 slots, of which runs by hand take 6 at the most",
      },
    ]);
  });

  it("B17: runs by hand stop at their share, scheduled runs take all; a floor of 0 is none", async () => {
    await apply({ pools: { p: { slots: 4, scheduledFloor: 3 } } });
    const byHand = await book.newRun();
    const scheduled = await newRun("d", "scheduled", "schedule");
    const tasks = (run: number, letter: string) => [1, 2, 3].map((n) => ask(run, `${letter}${n}`, "p"));
    await advance(book.db.pool, [byHand], [], tasks(byHand, "h"));
    await advance(book.db.pool, [scheduled], [], tasks(scheduled, "s"));
    await admissionPass(book.db.pool);
    expect(await book.tasks("granted")).toEqual(["h1", "s1", "s2", "s3"]);
    await apply({ pools: { p: { slots: 6, scheduledFloor: 0 } } });
    expect(await adhoc()).toEqual([]);
    await admissionPass(book.db.pool);
    expect(await book.tasks("waiting")).toEqual([]);
  });

  it("B17: a pool that the file names no more keeps its slots, and nothing of them from anybody", async () => {
    await apply({ pools: { p: { slots: 4, scheduledFloor: 3 } } });
    const { now } = await readLimitsNow(book.db.pool);
    expect(planLimits(now, NO_LIMITS).changes).toEqual([
      {
        what: "pool",
        name: "p",
        before: "4 slots, of which runs by hand take 1 at the most",
        after: "4 slots",
      },
    ]);
    await apply({});
    expect(await accounts()).toEqual([{ key: "pool:p", slots: 4 }]);
  });
});
