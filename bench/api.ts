/**
 * Speed of the API over a large database: `npm run bench:api -- [--smoke]`. A PostgreSQL of its own, filled
 * by SQL; the API over a real port in this process; times until the whole answer has been read. It ends by itself.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { serve } from "@hono/node-server";
import type pg from "pg";
import { createApp } from "../api/app.ts";
import type { MeridianClient } from "../client/types.ts";
import { migrate } from "../db/migrate.ts";
import { createPool } from "../platform/pg.ts";
import { createClient } from "../remote/index.ts";
import { bigDag, fill, FULL, SMOKE } from "./api-rows.ts";
import { dataParent } from "./server/paths.ts";
import { startPostgresIn } from "./servers.ts";
import { median, percentile } from "./statistics.ts";
import { undoAtEnd } from "./undo.ts";

const isSmoke = process.argv.includes("--smoke");
const sizes = isSmoke ? SMOKE : FULL;
const ROUNDS = isSmoke ? 5 : 100;
const say = (line: string): void => console.log(line);

const undo = undoAtEnd((error) => {
  console.error(error);
  process.exitCode = 1;
});
mkdirSync(dataParent, { recursive: true });
const home = mkdtempSync(join(dataParent, "api-"));
undo.add(() => rmSync(home, { recursive: true, force: true }));
try {
  const postgres = await startPostgresIn(home);
  undo.add(() => postgres.stop());
  await postgres.createDatabases(["api"]);
  const pool = createPool({ url: postgres.url("api"), max: 12, applicationName: "bench" }, () => undefined);
  undo.add(() => pool.end());
  await migrate(pool);
  const began = performance.now();
  await fill(pool, sizes, say);
  say(`filled in ${Math.round((performance.now() - began) / 1000)} s\n`);
  await measure(pool);
} finally {
  await undo.run();
}

/** A fresh API: it remembers nothing yet. */
async function startApi(pool: pg.Pool): Promise<{ url: string; stop: () => Promise<void> }> {
  const closing = new AbortController();
  const app = createApp({
    db: pool,
    client: {} as MeridianClient,
    logs: { read: () => Promise.reject(new Error("no logs here")) },
    objects: undefined as never,
    temporalWeb: null,
    allowedHosts: [],
    webFolder: null,
    version: "bench",
    closing: closing.signal,
  });
  return await new Promise((done) => {
    const server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, ({ port }: AddressInfo) =>
      done({
        url: `http://127.0.0.1:${port}`,
        stop: async () => {
          closing.abort();
          await new Promise<void>((stopped) => {
            server.close(() => stopped());
            if ("closeAllConnections" in server) server.closeAllConnections();
          });
        },
      }),
    );
  });
}

interface Answer {
  readonly ms: number;
  readonly bytes: number;
  readonly status: number;
  readonly etag: string | null;
}

async function ask(url: string, headers: Record<string, string> = {}): Promise<Answer> {
  const began = performance.now();
  const response = await fetch(url, { headers });
  const { byteLength } = await response.arrayBuffer();
  const ms = performance.now() - began;
  if (response.status >= 400) throw new Error(`${url}: ${response.status}`);
  return { ms, bytes: byteLength, status: response.status, etag: response.headers.get("etag") };
}

function report(what: string, answers: readonly { ms: number; bytes?: number }[]): void {
  const times = answers.map(({ ms }) => ms);
  const size = answers.at(-1)?.bytes;
  const kb = size === undefined ? "" : `${(size / 1000).toFixed(0)} kB`;
  const cells = [median(times), percentile(times, 0.99), Math.max(...times)].map((ms) =>
    ms.toFixed(1).padStart(7),
  );
  say(
    `${what.padEnd(52)} p50 ${cells[0]}  p99 ${cells[1]}  max ${cells[2]} ms  ${kb.padStart(8)}  n ${times.length}`,
  );
}

async function measure(pool: pg.Pool): Promise<void> {
  await grids(pool);
  await lists(pool);
  await changes(pool);
}

/** 90 days × 100 tasks. */
async function grids(pool: pg.Pool): Promise<void> {
  const query = `grid?runs=${sizes.runs}`;
  const cold: Answer[] = [];
  const api = await startApi(pool);
  await ask(`${api.url}/api/v1/dags?limit=1`);
  // Each DAG is asked for once: nothing of it is remembered by the API.
  for (let n = 1; n <= sizes.bigDags; n++)
    cold.push(await ask(`${api.url}/api/v1/dags/${bigDag(n)}/${query}`));
  report("grid, never asked for before", cold.slice(1));

  const path = `${api.url}/api/v1/dags/${bigDag(1)}/${query}`;
  const moved: Answer[] = [];
  const same: Answer[] = [];
  const { rows } = await pool.query<{ run: number }>(
    "select run::float8 as run from app.dag_run where dag_id = 'big_1' order by run desc limit 1",
  );
  for (let i = 0; i < ROUNDS; i++) {
    await pool.query("update app.cell set state = $2 where run = $1 and task_id = 'task_1'", [
      rows[0]!.run,
      i % 2 === 0 ? "failed" : "success",
    ]);
    const answer = await ask(path);
    moved.push(answer);
    same.push(await ask(path, { "if-none-match": answer.etag! }));
  }
  report("grid, a cell has changed", moved);
  if (same.some(({ status }) => status !== 304)) throw new Error("expected 304");
  report("grid, nothing has changed (304)", same);
  await api.stop();
}

/** First pages of the list. */
async function lists(pool: pg.Pool): Promise<void> {
  const api = await startApi(pool);
  const queries: [string, string][] = [
    ["DAG list", "limit=100"],
    ["DAG list, search", "limit=100&search=number%20123"],
    ["DAG list, a tag", "limit=100&tag=tag_7"],
    ["DAG list, an owner", "limit=100&owner=owner_3"],
    ["DAG list, search, tags and owner", "limit=100&search=team&tag=tag_7&tag=kind_2&owner=owner_7"],
    ["DAG list, not paused, by next run", "limit=100&paused=false&sort=nextDueAt"],
    ["DAG list, last run failed", "limit=100&state=failed"],
    ["DAG list, last run running (none)", "limit=100&state=running"],
    ["DAG list, from the middle", "limit=100&after=team20_dag_10020"],
  ];
  for (const [what, query] of queries) {
    const answers: Answer[] = [];
    await ask(`${api.url}/api/v1/dags?${query}`);
    for (let i = 0; i < ROUNDS / 2; i++) answers.push(await ask(`${api.url}/api/v1/dags?${query}`));
    report(what, answers);
  }
  for (const [what, path] of [
    ["tags and owners", "/dag-facets"],
    ["runs of all DAGs", "/runs?limit=100"],
    ["runs of all DAGs, failed", "/runs?limit=100&state=failed"],
    ["runs of all DAGs, search", "/runs?limit=100&search=dag_19999"],
  ] as const) {
    const answers: Answer[] = [];
    for (let i = 0; i < ROUNDS / 2; i++) answers.push(await ask(`${api.url}/api/v1${path}`));
    report(what, answers);
  }
  await api.stop();
}

/** From the commit of a cell's change until a subscriber has it. */
async function changes(pool: pg.Pool): Promise<void> {
  const api = await startApi(pool);
  const { rows } = await pool.query<{ run: number }>(
    "update app.dag_run set state = 'running' where dag_id = 'big_1' and run = (select max(run) from app.dag_run where dag_id = 'big_1') returning run::float8 as run",
  );
  const run = rows[0]!.run;
  for (const [what, subscribers, noise] of [
    ["a cell's change → a subscriber", 1, 0],
    ["… with 200 subscribers", 200, 0],
    ["… while 2,000 other cells of its run change a second", 20, 2000],
  ] as const) {
    report(what, await timeChanges(pool, api.url, run, isSmoke ? 2 : subscribers, noise));
  }
  await api.stop();
}

async function timeChanges(
  pool: pg.Pool,
  url: string,
  run: number,
  subscribers: number,
  noise: number,
): Promise<{ ms: number }[]> {
  const stop = new AbortController();
  const waiting = new Map<string, (at: number) => void>();
  const client = createClient({ url });
  let ready = 0;
  const following = Array.from({ length: subscribers }, async (_, n) => {
    let isFirst = true;
    for await (const { changes: what } of client.events({ dagId: bigDag(1), signal: stop.signal })) {
      if (isFirst) ready += 1;
      isFirst = false;
      for (const cell of what?.cells.flatMap((one) => one.cells) ?? []) {
        if (n === subscribers - 1) waiting.get(`${cell.taskId} ${cell.try}`)?.(performance.now());
      }
    }
  });
  const over = Promise.allSettled(following);
  while (ready < subscribers) await new Promise((resolve) => setTimeout(resolve, 20));
  let isOver = false;
  const noisy = (async () => {
    for (let i = 0; !isOver && noise > 0; i++) {
      await pool.query(
        `insert into app.cell (run, task_id, state) select $1, 'noise_' || n, $2 from generate_series(1, ${noise / 10}) n
         on conflict (run, task_id, map_index) do update set state = excluded.state`,
        [run, i % 2 === 0 ? "queued" : "running"],
      );
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();
  const times: { ms: number }[] = [];
  for (let i = 1; i <= (isSmoke ? 5 : 50); i++) {
    const seen = new Promise<number>((resolve) => waiting.set(`task_2 ${i}`, resolve));
    await pool.query("update app.cell set try = $2 where run = $1 and task_id = 'task_2'", [run, i]);
    const began = performance.now();
    times.push({ ms: (await seen) - began });
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 200));
  }
  isOver = true;
  await noisy;
  stop.abort();
  await over;
  return times;
}
