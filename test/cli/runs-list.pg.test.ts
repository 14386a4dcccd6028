import type { AddressInfo } from "node:net";
import { serve, type ServerType } from "@hono/node-server";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createProgram } from "../../cli/main.ts";
import { insertCell, insertDag, insertRun } from "../api/rows.ts";
import { testApp } from "../api/support.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

let database: TestDatabase;
let server: ServerType;
let url: string;

const ago = (hours: number): string => new Date(Date.now() - hours * 3_600_000).toISOString();

beforeAll(async () => {
  database = await createTestDatabase("list", 4);
  const { pool } = database;
  const app = testApp({ db: pool });
  url = await new Promise((done) => {
    server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, (info: AddressInfo) =>
      done(`http://127.0.0.1:${info.port}`),
    );
  });
  await insertDag(pool, "nightly");
  /** A run is made no later than it begins, and its number says when. */
  const put = async (date: string, state: string, hoursAgo: number): Promise<number> => {
    const run = await insertRun(pool, "nightly", date, { state });
    const made = Date.parse(ago(hoursAgo)) * 1000 + (run % 1000);
    await pool.query("update app.dag_run set run = $2, started_at = $3 where run = $1", [
      run,
      made,
      ago(hoursAgo),
    ]);
    return made;
  };
  await put("2026-05-07T00:00:00Z", "failed", 40);
  const failed = await put("2026-05-08T00:00:00Z", "failed", 5);
  const waits = await put("2026-05-09T00:00:00Z", "running", 1);
  await insertCell(pool, failed, "load", "failed");
  await insertCell(pool, waits, "extract", "queued");
});
afterAll(async () => {
  await new Promise<void>((done) => server.close(() => done()));
  await database.drop();
});

/** What `runs list` prints, line by line, without its head. */
async function listed(...options: readonly string[]): Promise<string[]> {
  const printed: string[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((line = "") => void printed.push(String(line)));
  try {
    await createProgram().parseAsync(["runs", "list", "--url", url, ...options], { from: "user" });
  } finally {
    log.mockRestore();
  }
  return printed.join("\n").trimEnd().split("\n");
}

test("C1: runs list finds what began in a span, and says what failed or that a run waits", async () => {
  const rows = (await listed("--started-from", ago(12))).slice(1);
  expect(rows).toHaveLength(2);
  expect(rows[0]).toMatch(/^nightly +2026-05-09T00-00-00Z .* 1 task waits$/);
  expect(rows[1]).toMatch(/^nightly +2026-05-08T00-00-00Z .* task "load" failed$/);
  expect(await listed("--started-until", ago(12), "--quiet")).toEqual(["nightly 2026-05-07T00-00-00Z"]);
  expect(await listed("--started-from", ago(12), "--started-until", ago(3), "--quiet")).toEqual([
    "nightly 2026-05-08T00-00-00Z",
  ]);
});
