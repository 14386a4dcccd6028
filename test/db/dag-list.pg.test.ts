import { afterAll, beforeAll, expect, test } from "vitest";
import type { RunState } from "../../core/states.ts";
import type { Db } from "../../db/connection.ts";
import { type DagFilter, readDags } from "../../db/read/dags.ts";
import { insertDag, insertRun } from "../api/rows.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

let database: TestDatabase;
/** Runs of each DAG, oldest first. */
const DAGS: Record<string, RunState[]> = {
  never: [],
  open: ["success", "running"],
  waiting: ["failed", "queued"],
  overtaken: ["running", "success"],
  stopped: ["success", "cancelled"],
  restarted: ["cancelled", "failed"],
};

beforeAll(async () => {
  database = await createTestDatabase("dag_list");
  for (const [dagId, states] of Object.entries(DAGS)) {
    await insertDag(database.pool, dagId);
    // Made in the other order: the logical date says which is the last.
    for (const [i, state] of [...states.entries()].reverse()) {
      await insertRun(database.pool, dagId, `2026-05-0${i + 1}T00:00:00Z`, { state });
    }
  }
});
afterAll(() => database.drop());

const NONE: DagFilter = {
  search: null,
  tags: null,
  allTags: false,
  owners: null,
  paused: null,
  active: null,
  importError: null,
  state: null,
};
const FIRST = { sort: "dagId", after: null, limit: 100 } as const;

test.each([
  ["queued", ["waiting"]],
  ["running", ["open"]],
  ["cancelled", ["stopped"]],
  ["success", ["overtaken"]],
  ["failed", ["restarted"]],
] as const)("C1: DAGs whose last run is %s", async (state, expected) => {
  const { rows, total } = await readDags(database.pool, { ...NONE, state }, FIRST);
  expect(rows.map((row) => row.dag_id)).toEqual(expected);
  expect(total).toBe(expected.length);
});

test.each([
  ["queued", 1],
  ["running", 2],
  ["cancelled", 2],
] as const)("C1: for %s only DAGs that have such a run are looked up", async (state, lookedUp) => {
  const plan: string[] = [];
  const explaining: Pick<Db, "query"> = {
    query: (async (sql: string, values: unknown[]) => {
      const { rows } = await database.pool.query<{ "QUERY PLAN": string }>(
        `explain (analyze, costs off, timing off) ${sql}`,
        values,
      );
      plan.push(...rows.map((row) => row["QUERY PLAN"]));
      return { rows: [{ total: 0, dag_id: null }] };
    }) as unknown as Db["query"],
  };
  await readDags(explaining as Db, { ...NONE, state }, FIRST);
  const ledger = plan.find((line) => line.includes("run_key"));
  expect(ledger, plan.join("\n")).toMatch(new RegExp(`loops=${lookedUp}\\)`));
});
