import type { AddressInfo } from "node:net";
import { serve, type ServerType } from "@hono/node-server";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createProgram } from "../../cli/main.ts";
import { advance } from "../../db/pools/advance.ts";
import { admissionPass } from "../../db/pools/pass.ts";
import { samplePools } from "../../db/pools/sample.ts";
import { createRuns } from "../../db/runs.ts";
import { testApp } from "../api/support.ts";
import { AccountBook, ask } from "../support/account-book.ts";

let book: AccountBook;
let server: ServerType;
let url: string;

beforeAll(async () => {
  book = await AccountBook.make();
  const app = testApp({ db: book.db.pool });
  url = await new Promise((done) => {
    server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, (info: AddressInfo) =>
      done(`http://127.0.0.1:${info.port}`),
    );
  });
  await book.setAccount("cohort:all", 3);
  await book.setAccount("tenant:owner", 2, { cohort: "all" });
  await book.setAccount("tenant:guest", 1, { cohort: "all", core_hours: 8 });
  await book.addDag("guest", "guest");
});
afterAll(async () => {
  await new Promise<void>((done) => server.close(() => done()));
  await book.db.drop();
});

/** What a command prints, line by line. */
async function meridian(...words: readonly string[]): Promise<string[]> {
  const printed: string[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((line = "") => void printed.push(String(line)));
  try {
    await createProgram().parseAsync([...words, "--url", url], { from: "user" });
  } finally {
    log.mockRestore();
  }
  return printed.join("\n").trimEnd().split("\n");
}

test("B11 C4: pools set with a floor, get, list and history say how long it makes wait and what comes", async () => {
  const made = await meridian("pools", "set", "etl", "2", "--scheduled-floor", "1", "--output", "json");
  expect(JSON.parse(made.join("\n"))).toMatchObject({ slots: 2, scheduledFloor: 1 });
  const run = await book.newRun();
  await advance(
    book.db.pool,
    [run],
    [],
    ["a", "b"].map((id) => ask(run, id, "etl")),
  );
  await admissionPass(book.db.pool);
  await samplePools(book.db.pool);
  const columns = "name,used,waiting,scheduledFloor,grantsPerMinute";
  const listed = await meridian("pools", "list", "--columns", columns);
  expect(listed.find((line) => line.startsWith("etl"))).toMatch(/^etl +1 +1 +1 +0\.\d+$/);
  const shown = (await meridian("pools", "get", "etl")).join("\n");
  expect(shown).toMatch(/longestWait +\d+\.\d s/);
  expect(shown).toContain(
    "by priority class:\nclass     used  waiting  arrivalsPerMinute  grantsPerMinute\nstandard  1",
  );
  const [head, sample] = await meridian("pools", "history", "etl", "--minutes", "5");
  expect(head).toBe("at                    slots  used  waiting  longestWait  p95Wait");
  expect(sample).toMatch(/Z +2 +1 +1 +\d+\.\d s +\d+\.\d s$/);
});

test("B12: tenants, and who lends to whom", async () => {
  const run = await book.newRun("guest");
  await advance(
    book.db.pool,
    [run],
    [],
    ["x", "y"].map((id) => ask(run, id, "default_pool")),
  );
  await admissionPass(book.db.pool);
  const columns = ["--columns", "name,slots,used,borrowed,lent,coreHoursQuota"];
  expect(await meridian("tenants", ...columns)).toEqual([
    "name   slots  used  borrowed  lent  coreHoursQuota",
    "guest  1      2     1         0     8",
    "owner  2      0     0         1     -",
    "",
    "lends:",
    "from   to     slots",
    "owner  guest  1",
  ]);
  expect(await meridian("tenants", "--quiet")).toEqual(["guest", "owner"]);
});

test("B11: runs priority moves a run that waits", async () => {
  await book.db.pool.query("update app.account set slots = 0 where key = 'runs:d'");
  const at = "2026-05-09T00:00:00Z";
  const dates = { logical_at: at, start_at: at, end_at: at, version: book.version };
  const made = { dag_id: "d", run_id: "2026-05-09T00-00-00Z", run_type: "scheduled" as const };
  await createRuns(book.db.pool, [{ ...made, ...dates, who: "clock", first: null }]);
  const moved = await meridian("runs", "priority", "d", "2026-05-09T00-00-00Z", "--priority", "-3");
  expect(moved).toEqual(["d 2026-05-09T00-00-00Z has priority -3; requests that moved: 1"]);
});
