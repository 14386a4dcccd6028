import { afterAll, beforeAll, expect, test } from "vitest";
import { endGoneRun } from "../../db/pools/reconcile.ts";
import { insertCell, insertDag, insertRun, insertTry } from "../api/rows.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase("gone", 3);
  await insertDag(db.pool, "sales");
});
afterAll(async () => await db.drop());

const REASON = "its workflow is terminated in Temporal";

test("B11: the end of a run whose workflow is gone is in its events, behind its own words", async () => {
  const run = await insertRun(db.pool, "sales", "2026-05-09T00:00:00Z", { state: "running" });
  await insertCell(db.pool, run, "a", "success");
  await insertCell(db.pool, run, "b", "running", { try: 2 });
  await insertCell(db.pool, run, "c", "queued");
  await insertTry(db.pool, run, "b", 2, "running");
  await db.pool.query("update app.cell set seq = 3 where run = $1 and task_id = 'a'", [run]);
  await db.pool.query(
    "insert into app.task_event (run, seq, task_id, try, state) values ($1, 3, 'a', 1, 'success')",
    [run],
  );
  expect(await endGoneRun(db.pool, run, REASON)).toBe(true);
  expect(await events(run)).toEqual([
    [3, "a", 1, "success", null],
    [4, "b", 2, "cancelled", { reason: REASON }],
    [5, "c", 1, "cancelled", { reason: REASON }],
  ]);

  // What the run was just about to say comes late.
  const late = { run, seq: 4, task_id: "b", map_index: -1, try: 2, state: "success", try_state: null };
  await db.pool.query("select app.settle($1)", [JSON.stringify([late])]);
  const { rows } = await db.pool.query("select task_id, state, seq from app.cell where run = $1 order by 1", [
    run,
  ]);
  expect(rows).toEqual([
    { task_id: "a", state: "success", seq: 3 },
    { task_id: "b", state: "cancelled", seq: 4 },
    { task_id: "c", state: "cancelled", seq: 5 },
  ]);
  // Again, nothing more is said.
  expect(await endGoneRun(db.pool, run, REASON)).toBe(false);
  expect(await events(run)).toHaveLength(3);
});

async function events(run: number): Promise<unknown[][]> {
  const { rows } = await db.pool.query<unknown[]>({
    text: "select seq, task_id, try, state, detail from app.task_event where run = $1 order by seq",
    values: [run],
    rowMode: "array",
  });
  return rows;
}
