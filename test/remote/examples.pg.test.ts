/** The programs that docs/api.md shows, run as they stand. */
import { execFile } from "node:child_process";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { serve, type ServerType } from "@hono/node-server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { MeridianClient } from "../../client/types.ts";
import { Refused } from "../../core/errors.ts";
import { runIdOf, workflowIdOf } from "../../core/ids.ts";
import { insertCell, insertDag, insertRun, insertTry } from "../api/rows.ts";
import { fakeClient, testApp } from "../api/support.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

let database: TestDatabase;
let server: ServerType;
let url: string;
let refusal: Refused | null = null;
const confs: unknown[] = [];
const ends: Promise<void>[] = [];

/** Makes a run that succeeds soon. */
const trigger: MeridianClient["trigger"] = async ({ dagId, conf }) => {
  if (refusal !== null) throw refusal;
  confs.push(conf);
  const { pool } = database;
  const at = Date.now();
  const run = await insertRun(pool, dagId, new Date(at).toISOString(), {
    state: "running",
    runType: "manual",
  });
  const ending = async (): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, 500));
    await insertCell(pool, run, "select", "success");
    await pool.query("update app.dag_run set state = 'success', ended_at = now() where run = $1", [run]);
  };
  ends.push(ending());
  return { dagId, run, runId: runIdOf(at), state: "running", workflowId: workflowIdOf(dagId, runIdOf(at)) };
};

beforeAll(async () => {
  database = await createTestDatabase("examples");
  const { pool } = database;
  await insertDag(pool, "sales_export", { tags: ["example"] });
  const run = await insertRun(pool, "sales_export", "2026-05-02T00:00:00Z", { state: "failed" });
  await insertCell(pool, run, "select", "failed");
  await insertTry(pool, run, "select", 1, "failed");
  const good = await insertRun(pool, "sales_export", "2026-05-01T00:00:00Z", { state: "success" });
  await insertCell(pool, good, "select", "success");
  await insertTry(pool, good, "select", 1, "failed", { error: { name: "Error", message: "shop is away" } });
  await insertTry(pool, good, "select", 2, "success", { output: [4, 8] });
  const app = testApp({
    db: pool,
    client: { ...fakeClient().client, trigger },
    logs: { read: async () => ({ text: "no order fits\n", nextOffset: 14, done: true }) },
  });
  url = await new Promise((done) => {
    server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, ({ port }: AddressInfo) =>
      done(`http://127.0.0.1:${port}`),
    );
  });
});
afterAll(async () => {
  await Promise.all(ends);
  await new Promise<void>((done) => server.close(() => done()));
  await database.drop();
});

const run = promisify(execFile);
async function example(name: string): Promise<{ stdout: string; stderr: string; code: number }> {
  const file = new URL(`examples/${name}`, import.meta.url).pathname;
  const env = { ...process.env, MERIDIAN_API_URL: url };
  return await run(process.execPath, ["--import", import.meta.resolve("tsx"), file], {
    env,
    encoding: "utf8",
  }).then(
    (answer) => ({ ...answer, code: 0 }),
    (error: unknown) => error as { stdout: string; stderr: string; code: number },
  );
}

describe("F5, A5: the client as documented", { timeout: 60_000 }, () => {
  test("trigger and wait; the exit code is the run's", async () => {
    const { stdout, stderr, code } = await example("trigger-and-wait.ts");
    expect(stderr).toBe("");
    expect(stdout).toMatch(/^select: success\nsales_export \S+: success\n$/);
    expect(code).toBe(0);
    expect(confs).toEqual([{ from: "2026-05-01", region: "eu" }]);
    const errors = [{ path: "from", message: "expected a date" }];
    refusal = new Refused("bad_params", "params do not fit", { details: { errors } });
    const refused = await example("trigger-and-wait.ts");
    refusal = null;
    expect([refused.stderr, refused.code]).toEqual(["from: expected a date\n", 2]);
  });

  test("read lists, runs and logs", async () => {
    const { stdout } = await example("read.ts");
    expect(stdout).toContain("sales_export ");
    expect(stdout).toContain("--- sales_export 2026-05-02T00-00-00Z select\nno order fits\n");
  });

  test("outputs, tries and logs of a task, the try left out", async () => {
    const { stdout, stderr } = await example("outputs.ts");
    expect(stderr).toBe("");
    expect(stdout).toBe(
      "2026-05-01T00-00-00Z returned [ 4, 8 ]\ntry 1: failed shop is away\ntry 2: success \nno order fits\n\n",
    );
  });

  test("follow changes", async () => {
    const following = example("follow.ts");
    const isOver = following.then(() => true);
    // Once it follows, a run that is made shows.
    while (!(await Promise.race([isOver, new Promise((resolve) => setTimeout(resolve, 1000))]))) {
      await trigger({ dagId: "sales_export", logicalAt: null, conf: {}, who: "test" });
    }
    expect((await following).stdout).toMatch(/^sales_export \S+ success$/m);
  });
});
