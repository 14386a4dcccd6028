/**
 * Admission by itself: `npm run bench:admission [-- --smoke]`. The account book of a PostgreSQL of its own, with 7,000 leases
 * and 10,000 requests that wait for full pools: grants a second, the call that asks for what is free, and what a pass costs
 * by how many wait. It ends by itself, and removes what it made.
 */
import { aloneBench } from "./alone.ts";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type pg from "pg";
import { advance, type RequestRow } from "../db/pools/advance.ts";
import { admissionPass, quickPass } from "../db/pools/pass.ts";
import { migrate } from "../db/migrate.ts";
import { recordTries, type EndedRow } from "../db/tries.ts";
import { createPool } from "../platform/pg.ts";
import { startPostgresIn } from "./servers.ts";
import { median, percentile } from "./statistics.ts";

const isSmoke = process.argv.includes("--smoke");
const LEASES = isSmoke ? 350 : 7_000;
const WAITING = isSmoke ? 500 : 10_000;
const POOLS = 70;
const CALLS_PER_S = 50;
const CALLING_MS = isSmoke ? 2_000 : 20_000;
const ENDING_AT_ONCE = 100;

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const HOME = join(ROOT, `.meridian/bench-admission-${process.pid}`);

const { undo, report, run } = aloneBench("admission", HOME, isSmoke);

await run(measure);

async function measure(): Promise<void> {
  mkdirSync(HOME, { recursive: true });
  const postgres = await startPostgresIn(HOME);
  undo.add(() => postgres.stop());
  await postgres.createDatabases(["book"]);
  const pool = createPool({ url: postgres.url("book"), max: 8, applicationName: "bench" }, (error) =>
    console.error(error.message),
  );
  undo.add(() => pool.end());
  await migrate(pool);

  for (const tenants of [false, true]) {
    const suffix = tenants ? ", three tenants in a cohort" : "";
    await fill(pool, tenants, WAITING);
    report(`grants, as tries end${suffix}`, await grantsPerSecond(pool), "grants/s");
    await fill(pool, tenants, WAITING);
    const calls = await callsForFree(pool);
    report(`asking for three free slots, ${CALLS_PER_S} calls a second${suffix}: p50`, median(calls), "ms");
    report(
      `asking for three free slots, ${CALLS_PER_S} calls a second${suffix}: p99`,
      percentile(calls, 0.99),
      "ms",
    );
  }
  for (const waiting of [WAITING / 10, WAITING, WAITING * 10]) {
    await fill(pool, false, waiting);
    report(`a pass that grants one, ${waiting} waiting behind full pools`, await passMs(pool), "ms");
  }
}

/** 70 full pools, a run for each, and what waits for them in equal parts. */
async function fill(pool: pg.Pool, tenants: boolean, waiting: number): Promise<void> {
  await pool.query(
    "truncate app.lease, app.cell, app.task_try, app.dag_run, app.run_key, app.dag_version, app.dag, app.bundle, app.account, app.waited, app.spent, app.stop cascade",
  );
  await pool.query("insert into app.bundle (hash, code) values ('b', '')");
  await pool.query(
    `insert into app.dag (dag_id, file, timetable, timetable_hash, max_active_runs, shard, tenant)
     select 'd' || n, 'd.ts', '{"kind":"manual"}', 'h', 1000, 0, case when $2 then 't' || n % 3 end from generate_series(1, $1) n`,
    [POOLS, tenants],
  );
  await pool.query(
    `insert into app.dag_run (run, dag_id, run_id, run_type, logical_at, start_at, end_at, state, version, tenant)
     select app.new_run() + n * 100000, d.dag_id, d.dag_id, 'scheduled', now(), now(), now(), 'running', 1, d.tenant
     from app.dag d cross join generate_series(1, 1) n`,
  );
  const slots = Math.floor(LEASES / POOLS);
  await pool.query(
    `insert into app.account (key, slots) select 'pool:p' || n, $2 from generate_series(1, $1::integer) n
     union all select 'pool:free', 1000000`,
    [POOLS, slots],
  );
  if (tenants)
    await pool.query(
      `insert into app.account (key, slots, cohort) select 'tenant:t' || n, 1000000, 'all' from generate_series(0, 2) n
       union all select 'cohort:all', 3000000, null`,
    );
  await pool.query(
    `with asked as (
       select r.run, substr(r.dag_id, 2)::integer as p, r, i, i <= $2::integer as has
       from app.dag_run r cross join generate_series(1, $1::integer) i
     ), cells as (
       insert into app.cell (run, task_id, state, try, phase) select a.run, 't' || a.i, 'queued', 1, 0 from asked a
     )
     insert into app.lease (run, task_id, try, account, slots, limits, granted_at, told_at, known)
     select a.run, 't' || a.i, 1, 'pool:p' || a.p, 1, app.limits_of(a.r, 't', 'pool:p' || a.p),
            case when a.has then now() end, case when a.has then now() end, a.has
     from asked a order by a.i`,
    [slots + Math.ceil(waiting / POOLS), slots],
  );
  await pool.query("analyze");
  await admissionPass(pool);
}

function endedOf(run: number, task_id: string): EndedRow {
  const at = new Date().toISOString();
  return { run, task_id, map_index: -1, try: 1, state: "success", at, error: null, output: null };
}

/** Tries end as fast as their ends can be written, and a worker's loop passes on: until all that waited has its slot. */
async function grantsPerSecond(pool: pg.Pool): Promise<number> {
  let granted = 0;
  let isOver = false;
  const start = performance.now();
  const ending = (async () => {
    while (!isOver) {
      const { rows } = await pool.query<{ run: number; task_id: string }>(
        "select run, task_id from app.lease where granted_at is not null order by granted_at limit $1",
        [ENDING_AT_ONCE],
      );
      await recordTries(
        pool,
        [],
        rows.map((row) => endedOf(row.run, row.task_id)),
      );
    }
  })();
  while (granted < WAITING) {
    const quick = await quickPass(pool);
    granted += quick.granted + (quick.rest ? await admissionPass(pool) : 0);
  }
  const seconds = (performance.now() - start) / 1_000;
  isOver = true;
  await ending;
  return granted / seconds;
}

/** Milliseconds of each call, while tries of other pools end and a worker passes on what came free, each 100 ms. */
async function callsForFree(pool: pg.Pool): Promise<number[]> {
  const { rows } = await pool.query<{ run: number }>("select run from app.dag_run order by run");
  const times: number[] = [];
  const open: Promise<void>[] = [];
  let isOver = false;
  const churn = (async () => {
    for (let n = 0; !isOver; n++) {
      const run = rows[n % rows.length]!.run;
      const busy = await pool.query<{ task_id: string }>(
        "select task_id from app.lease where run = $1 and granted_at is not null and account <> 'pool:free' limit 5",
        [run],
      );
      await recordTries(
        pool,
        [],
        busy.rows.map((row) => endedOf(run, row.task_id)),
      );
      // As a worker does.
      if ((await quickPass(pool)).rest) await admissionPass(pool);
      await sleep(100);
    }
  })();
  const begin = performance.now();
  for (let n = 0; performance.now() - begin < CALLING_MS; n++) {
    const { run } = rows[n % rows.length]!;
    const requests = [0, 1, 2].map((i): RequestRow => ({
      run,
      task_id: `free${n}_${i}`,
      map_index: -1,
      try: 1,
      account: "pool:free",
      slots: 1,
      priority: 1,
    }));
    open.push(
      (async () => {
        const from = performance.now();
        const { grants } = await advance(pool, [run], [], requests);
        times.push(performance.now() - from);
        if (grants.length < 3) throw new Error(`of three free slots ${grants.length} were granted`);
      })(),
    );
    await sleep(Math.max(0, begin + (n + 1) * (1_000 / CALLS_PER_S) - performance.now()));
  }
  await Promise.all(open);
  isOver = true;
  await churn;
  return times;
}

async function passMs(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ run: number }>("select run from app.dag_run order by run");
  const times: number[] = [];
  for (let n = 0; n < 40; n++) {
    const run = rows[n % rows.length]!.run;
    const held = await pool.query<{ task_id: string }>(
      "select task_id from app.lease where run = $1 and granted_at is not null limit 1",
      [run],
    );
    await recordTries(pool, [], [endedOf(run, held.rows[0]!.task_id)]);
    const from = performance.now();
    const granted = await admissionPass(pool);
    times.push(performance.now() - from);
    if (granted !== 1) throw new Error(`a pass over one free slot granted ${granted}`);
  }
  return median(times);
}
