import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readLive } from "../../platform/embedded/home.ts";
import { freePort } from "../../platform/embedded/ports.ts";
import "../../platform/pg.ts";
import { startProcess, type Started } from "../support/processes.ts";
import { ROOT, sleep, startProduct, until, type Product } from "../support/product.ts";

/** The named size is 20 kills in a row; everyday the same edge is crossed fewer times. */
const FULL = process.env["MERIDIAN_TEST_FULL"] === "1";

const DAG = (id: string): string => `import { dag, task } from "meridian";
dag("${id}", { schedule: null, maxActiveRuns: 50, defaults: { retries: 1, retryDelay: 50 } }, () => {
  const pause = async () => { await new Promise((done) => setTimeout(done, 300)); return 1; };
  const a = task("a", pause);
  const b = task("b", { inputs: { a } }, pause);
  const c = task("c", { inputs: { a } }, pause);
  task("d", { inputs: { b, c } }, async ({ inputs }) => inputs.b + inputs.c);
});`;

async function post(url: string, dagId: string, key: string): Promise<{ runId: string } | null> {
  try {
    const response = await fetch(`${url}/api/v1/dags/${dagId}/runs`, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": key },
      body: "{}",
      signal: AbortSignal.timeout(10_000),
    });
    return response.ok ? ((await response.json()) as { runId: string }) : null;
  } catch {
    return null;
  }
}

/** Every accepted run is there once and ended well; every task succeeded once; no slot is left in use. */
async function expectWhole(pool: pg.Pool, dagId: string, accepted: readonly string[]): Promise<void> {
  const { rows: runs } = await pool.query<{ run: number; run_id: string; state: string }>(
    "select run, run_id, state from app.dag_run where dag_id = $1 order by run",
    [dagId],
  );
  expect(new Set(runs.map((run) => run.run_id)).size).toBe(runs.length);
  for (const runId of accepted) expect(runs.map((run) => run.run_id)).toContain(runId);
  expect(runs.filter((run) => run.state !== "success")).toEqual([]);
  const { rows: doubled } = await pool.query(
    `select run, task_id, count(*) from app.task_try where state = 'success' and run = any ($1)
     group by run, task_id having count(*) <> 1`,
    [runs.map((run) => run.run)],
  );
  expect(doubled).toEqual([]);
  const { rows: cells } = await pool.query(
    "select state, count(*) from app.cell where run = any ($1) group by state",
    [runs.map((run) => run.run)],
  );
  expect(cells).toEqual([{ state: "success", count: runs.length * 4 }]);
  const { rows: leases } = await pool.query("select * from app.lease where run = any ($1)", [
    runs.map((run) => run.run),
  ]);
  expect(leases).toEqual([]);
}

async function allEnded(pool: pg.Pool, dagId: string, withinMs: number): Promise<void> {
  await until(
    async () => {
      const { rows } = await pool.query(
        "select count(*) as open from app.dag_run where dag_id = $1 and ended_at is null",
        [dagId],
      );
      return rows[0].open === 0 ? true : null;
    },
    withinMs,
    `the end of all runs of ${dagId}`,
  );
}

describe("B6: kill -9 of the API", () => {
  let product: Product;
  let api: Started | undefined;
  let port: number;
  beforeAll(async () => {
    product = await startProduct();
    port = await freePort();
    await product.save("api.ts", DAG("kill_api"));
  });
  afterAll(async () => {
    await api?.kill();
    await product.stop();
  });

  const startApi = async (): Promise<void> => {
    api = await startProcess(["api"], { ...product.env, MERIDIAN_PORT: String(port) }, /API and page at/);
  };

  it(
    `B6 B3: ${FULL ? 20 : 2} kills in mid-trigger: every accepted trigger runs, a repeat with the same key makes no second run`,
    async () => {
      const url = `http://127.0.0.1:${port}`;
      const accepted: string[] = [];
      for (let kill = 0; kill < (FULL ? 20 : 2); kill++) {
        await startApi();
        const keys = Array.from({ length: 12 }, (_, i) => `${kill}-${i}`);
        let landed = 0;
        const first = keys.map(async (key) => {
          const answer = await post(url, "kill_api", key);
          landed += answer === null ? 0 : 1;
          return answer;
        });
        // Between the first answer and the last.
        await until(async () => (landed > kill % 8 ? true : null), 30_000, "an answer");
        await api!.kill();
        const answers = await Promise.all(first);
        await startApi();
        // Who got no answer asks again with the same key, until a claim whose holder died has lapsed or it is answered.
        const { rows: before } = await product.pool.query(
          "select count(*) as n from app.dag_run where dag_id = 'kill_api'",
        );
        const answered = answers.filter((answer) => answer !== null);
        accepted.push(...answered.map((answer) => answer.runId));
        for (const [i, key] of keys.entries()) {
          if (answers[i] === null) continue;
          const again = await post(url, "kill_api", key);
          if (again !== null) expect(again.runId).toBe(answers[i]!.runId);
        }
        const { rows: after } = await product.pool.query(
          "select count(*) as n from app.dag_run where dag_id = 'kill_api'",
        );
        expect(after[0].n).toBe(before[0].n);
        await api!.kill();
      }
      expect(accepted.length).toBeGreaterThan(0);
      await allEnded(product.pool, "kill_api", 60_000);
      await expectWhole(product.pool, "kill_api", accepted);
    },
    FULL ? 900_000 : 180_000,
  );
});

describe("B3 B6: kill -9 of everything", () => {
  const home = join(ROOT, ".meridian", `whole-${process.pid}`);
  const dags = join(home, "dag-files");
  let started: Started | undefined;
  let ports: Record<string, string>;

  beforeAll(async () => {
    mkdirSync(dags, { recursive: true });
    writeFileSync(join(dags, "whole.ts"), DAG("kill_whole"));
    ports = {
      MERIDIAN_PORT: String(await freePort()),
      MERIDIAN_POSTGRES_PORT: String(await freePort()),
      MERIDIAN_TEMPORAL_PORT: String(await freePort()),
      MERIDIAN_TEMPORAL_UI_PORT: String(await freePort()),
    };
  });
  afterAll(async () => {
    await started?.kill("SIGTERM");
    rmSync(home, { recursive: true, force: true });
  });

  const start = async (): Promise<void> => {
    const env = {
      MERIDIAN_HOME: home,
      MERIDIAN_DAGS: dags,
      MERIDIAN_LOST_AFTER_MS: "2000",
      MERIDIAN_DRAIN_MS: "2000",
      ...ports,
    };
    started = await startProcess(["start"], env, /Ready after/);
  };

  it(
    `B3: ${FULL ? 20 : 2} kills of the whole product in mid-run, servers included: nothing is lost, nothing doubled`,
    async () => {
      const url = `http://127.0.0.1:${ports["MERIDIAN_PORT"]}`;
      const accepted: string[] = [];
      await start();
      for (let kill = 0; kill < (FULL ? 20 : 2); kill++) {
        const answers = await Promise.all(
          Array.from({ length: 6 }, async (_, i) => await post(url, "kill_whole", `${kill}-${i}`)),
        );
        accepted.push(...answers.filter((answer) => answer !== null).map((answer) => answer.runId));
        await sleep(100 + ((kill * 137) % 900));
        const servers =
          kill % 2 === 0 ? (["postgres", "temporal"] as const).map((part) => readLive(home, part)) : [];
        await started!.kill();
        for (const server of servers) if (server !== null) process.kill(server.pid, "SIGKILL");
        await start();
      }
      const password = readFileSync(join(home, "postgres", "password"), "utf8").trim();
      const pool = new pg.Pool({
        host: "127.0.0.1",
        port: Number(ports["MERIDIAN_POSTGRES_PORT"]),
        user: "meridian",
        password,
        database: "meridian",
      });
      try {
        await allEnded(pool, "kill_whole", 90_000);
        expect(accepted.length).toBeGreaterThan(0);
        await expectWhole(pool, "kill_whole", accepted);
      } finally {
        await pool.end();
      }
    },
    FULL ? 1_500_000 : 240_000,
  );
});
