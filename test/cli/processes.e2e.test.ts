import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { freePort } from "../../platform/embedded/ports.ts";
import { insertDag } from "../api/rows.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { startProcess } from "../support/processes.ts";

let home: string;
let database: TestDatabase;
let env: Record<string, string>;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "meridian-processes-"));
  database = await createTestDatabase("processes", 3);
  env = {
    MERIDIAN_HOME: home,
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: inject("temporalAddress"),
    MERIDIAN_TASK_QUEUE: `t_${randomUUID().slice(0, 8)}`,
  };
});
afterAll(async () => {
  await database.drop();
  rmSync(home, { recursive: true, force: true });
});

describe("processes of their own", () => {
  it.each(["worker", "api", "processor"])("%s names all addresses that are missing", async (command) => {
    const failed = startProcess([command], { MERIDIAN_HOME: home }, /is running|watching|page at/);
    await expect(failed).rejects.toThrow(/DATABASE_URL and TEMPORAL_ADDRESS are not set/);
  });

  it("a worker says that it has stopped", async () => {
    const worker = await startProcess(["worker"], env, /worker for default is running/);
    await worker.kill("SIGTERM");
    expect(worker.child.exitCode).toBe(0);
    expect(worker.output()).toMatch(/SIGTERM: stopping[^]*"msg":"stopped"/);
  });

  it("the API reads from the replica that MERIDIAN_READER_URL names, and writes to DATABASE_URL", async () => {
    const replica = await createTestDatabase("replica", 3);
    const port = String(await freePort());
    const api = await startProcess(
      ["api"],
      { ...env, MERIDIAN_READER_URL: replica.url, MERIDIAN_PORT: port },
      /API and page at/,
    );
    try {
      await insertDag(replica.pool, "in_replica");
      await insertDag(database.pool, "in_primary");
      const at = `http://127.0.0.1:${port}/api/v1`;
      const { dags } = (await (await fetch(`${at}/dags`)).json()) as { dags: { dagId: string }[] };
      expect(dags.map(({ dagId }) => dagId)).toEqual(["in_replica"]);
      const headers = { "content-type": "application/json" };
      const made = await fetch(`${at}/pools/etl`, { method: "POST", headers, body: `{"slots": 3}` });
      expect(made.ok).toBe(true);
      const slots = "select slots from app.account where key = 'pool:etl'";
      expect((await database.pool.query(slots)).rows).toEqual([{ slots: 3 }]);
      expect((await replica.pool.query(slots)).rows).toEqual([]);
    } finally {
      await api.kill("SIGTERM");
      await replica.drop();
    }
  });
});
