/**
 * A6, many waits in one run: `npm run bench:waits [-- --smoke]`. 3,000 sensors that are checked once a minute, and 3,000 events,
 * over Temporal's dev server and PostgreSQL: what they cost while they wait, and how soon all of them end. Linux only; it
 * ends by itself, and removes what it made.
 */
import { aloneBench } from "./alone.ts";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type pg from "pg";
import { cpuMs } from "./cpu.ts";
import { startWhole, trigger, until } from "./whole.ts";

const isSmoke = process.argv.includes("--smoke");
const WAITS = isSmoke ? 100 : 3_000;
const EVERY = isSmoke ? "2s" : "1m";
/** Two checks of each. */
const REST_MS = isSmoke ? 4_000 : 120_000;

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const HOME = join(ROOT, `.meridian/bench-waits-${process.pid}`);
const THERE = join(HOME, "there");

const { undo, report, run } = aloneBench("waits", HOME, isSmoke);

const DAGS = `import { dag, sensor, waitFor } from "meridian";
import { existsSync } from "node:fs";

const numbers = Array.from({ length: ${WAITS} }, (_, i) => i);
const more = { expand: { n: numbers }, maxMapped: ${WAITS} } as const;

dag("many_sensors", { schedule: null }, () => {
  sensor("file", { ...more, every: "${EVERY}", timeout: null }, () => existsSync(${JSON.stringify(THERE)}));
});
dag("many_events", { schedule: null }, () => {
  waitFor("answer", more);
});
`;

await run(measure);

async function measure(): Promise<void> {
  const { url, pool, temporal, pid, servers } = await startWhole(undo, {
    home: HOME,
    server: "dev",
    dags: { "waits.ts": DAGS },
    count: 2,
  });
  const parts = [[pid], ...servers.pids.map((pid) => [pid])];

  for (const dagId of ["many_sensors", "many_events"]) {
    const what = dagId === "many_sensors" ? `${WAITS} sensors` : `${WAITS} events`;
    const began = performance.now();
    const { runId } = await trigger(url, dagId);
    await until(undo, async () => (await count(pool, "c.state = 'deferred'", dagId)) === WAITS);
    report(`${what}: trigger → all wait`, (performance.now() - began) / 1000, "s");
    const handle = temporal.workflow.getHandle(`run.${dagId}.${runId}`);
    const events = async (): Promise<number> => Number((await handle.describe()).historyLength ?? 0);
    // Of the first checks nothing is left to do.
    await sleep(isSmoke ? 1_000 : 10_000);
    const [eventsBefore, checksBefore] = [await events(), await checks(pool)];
    const before = parts.map((pids) => Number(cpuMs(pids)));
    await sleep(REST_MS);
    const used = parts.map((pids, i) => ((Number(cpuMs(pids)) - before[i]!) / REST_MS) * 100);
    const done = (await checks(pool)) - checksBefore;
    report(`${what}: checks a second`, (done / REST_MS) * 1000, "/s");
    ["our own processes", "PostgreSQL", "Temporal"].forEach((part, i) => {
      report(`${what}: CPU while they wait, ${part}`, used[i]!, "% of a core");
    });
    report(`${what}: slots held`, await slots(pool), "slots");
    report(`${what}: events of history while they wait`, (await events()) - eventsBefore, "events");
    const ending = performance.now();
    if (dagId === "many_sensors") writeFileSync(THERE, "");
    else await endAll(pool);
    await until(undo, async () => (await count(pool, "c.state = 'success'", dagId)) === WAITS);
    report(`${what}: all there → all ended`, (performance.now() - ending) / 1000, "s");
    report(`${what}: events of history at the end`, await events(), "events");
  }
}

async function count(pool: pg.Pool, where: string, dagId: string): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    `select count(*)::integer as n from app.cell c join app.dag_run r using (run) where r.dag_id = $1 and ${where}`,
    [dagId],
  );
  return rows[0]!.n;
}

async function checks(pool: pg.Pool): Promise<number> {
  return (await pool.query<{ n: number }>("select coalesce(sum(pokes), 0)::integer as n from app.wait"))
    .rows[0]!.n;
}

async function slots(pool: pg.Pool): Promise<number> {
  return (await pool.query("select from app.lease where task_id <> ''")).rowCount ?? 0;
}

/** As many callers would, all at once; the outbox tells the run. */
async function endAll(pool: pg.Pool): Promise<void> {
  await pool.query(
    `select count(*) from app.wait w cross join lateral app.end_event(w.run, w.task_id, w.map_index, null, null, '{"ok":true}', 'bench', null) e
     where w.kind = 'event' and w.ended_at is null`,
  );
}
