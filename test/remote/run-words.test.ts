import { expect, test } from "vitest";
import type { ListedRun } from "../../api/contracts.ts";
import { reasonOf } from "../../cli/run-text.ts";
import { remedyOf, standOf, whyOf } from "../../remote/run-words.ts";

test.each([
  ['can never run: pool "x" does not exist', "x", "make the pool, or name another in the DAG file"],
  ["can never run: needs 4, pool x has 2", "x", "give the pool more slots, or let the task ask for fewer"],
  ["pool x: all 4 slots are in use", "x", null],
  [null, "x", null],
  ["can never run: needs 4, runs of the DAG has 2", null, null],
])("F16: what ends the wait %s for pool %s: %s", (reason, pool, remedy) => {
  expect(remedyOf({ reason, pool })).toBe(remedy);
});

test("F16: the command line says what to do beside the reason", () => {
  expect(reasonOf({ reason: 'can never run: pool "x" does not exist', pool: "x" })).toBe(
    'can never run: pool "x" does not exist: make the pool, or name another in the DAG file',
  );
  expect(reasonOf({ reason: "pool x is full", pool: "x" })).toBe("pool x is full");
  expect(reasonOf({ reason: null, pool: "x" })).toContain("nobody has decided yet");
});

type Stand = NonNullable<ListedRun["tasks"]>;
const stand = (more: Partial<Stand>): Stand => ({
  running: 0,
  waiting: 0,
  failed: 0,
  firstFailed: null,
  ...more,
});
const load = { taskId: "load", mapIndex: -1 };

test.each([
  ["running", stand({ waiting: 1 }), "1 task waits"],
  ["running", stand({ waiting: 3 }), "3 tasks wait"],
  ["running", stand({ waiting: 3, running: 1 }), null],
  ["running", stand({}), null],
  ["running", null, null],
  ["failed", stand({ failed: 1, firstFailed: load }), 'task "load" failed'],
  [
    "failed",
    stand({ failed: 3, firstFailed: { taskId: "load", mapIndex: 2 } }),
    'task "load"[2] and 2 more failed',
  ],
  ["failed", stand({}), null],
  ["success", stand({ failed: 1, firstFailed: load }), null],
] as const)("C1: a %s run with %j: %s", (state, tasks, text) => {
  expect(standOf({ state, tasks })).toBe(text);
  expect(whyOf({ state, tasks, reason: "its own" })).toBe("its own");
  expect(whyOf({ state, tasks, reason: null })).toBe(text);
});
