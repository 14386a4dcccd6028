import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CommandDone, RunsCleared } from "../../api/contracts-commands.ts";
import { pack } from "../../core/packed.ts";
import { failed, over } from "../core/mapped-rig.ts";
import { Rig, success, task } from "../core/run-rig.ts";
import { serialTask } from "../support/serial.ts";
import { insertCell, insertDag, insertRun, insertVersion } from "./rows.ts";
import { fakeClient, post, problemOf, testApp, type TestApp } from "./support.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

let database: TestDatabase;
let app: TestApp;
const fake = fakeClient(["sales"]);
const RUN = "/dags/sales/runs/2026-05-09T00-00-00Z";

beforeAll(async () => {
  database = await createTestDatabase("api");
  app = testApp({ db: database.pool, client: fake.client });
  await insertDag(database.pool, "sales", {
    tasks: [
      serialTask("list"),
      serialTask("load", [0], { map: 0, items: { item: "item" } }),
      serialTask("sum", [1]),
    ],
  });
  const run = await insertRun(database.pool, "sales", "2026-05-09T00:00:00Z", { state: "failed" });
  await insertCell(database.pool, run, "list", "success");
  await insertCell(database.pool, run, "load", "success", { mapIndex: 0 });
  await insertCell(database.pool, run, "load", "failed", { mapIndex: 1, try: 3 });
  await insertCell(database.pool, run, "load", "removed", { mapIndex: 2 });
  await insertCell(database.pool, run, "sum", "upstream_failed", { try: 0 });
});
afterAll(() => database.drop());

const send = async (path: string, body: unknown): Promise<CommandDone> => {
  const response = await post(app, `${RUN}/${path}`, body);
  expect(response.status).toBe(200);
  return CommandDone.parse(await response.json());
};
const named = ({ cells }: CommandDone) =>
  cells.map((cell) => [cell.taskId, cell.mapIndex, cell.state, cell.try]);

describe("B9: commands to runs", () => {
  test("B9: a dry run says which cells it would be, and asks nobody", async () => {
    const before = fake.calls.length;
    const all = await send("clear", { dryRun: true });
    expect(named(all)).toEqual([
      ["list", -1, "success", 1],
      ["load", 0, "success", 1],
      ["load", 1, "failed", 3],
      ["sum", -1, "upstream_failed", 0],
    ]);
    const failed = await send("clear", { dryRun: true, onlyFailed: true });
    expect(named(failed).map(([id, index]) => [id, index])).toEqual([
      ["load", 1],
      ["sum", -1],
    ]);
    const one = await send("clear", {
      dryRun: true,
      tasks: [{ taskId: "load", mapIndex: 1 }],
      downstream: true,
    });
    expect(named(one).map(([id, index]) => [id, index])).toEqual([
      ["load", 1],
      ["sum", -1],
    ]);
    const up = await send("mark", {
      dryRun: true,
      as: "success",
      tasks: [{ taskId: "sum" }],
      upstream: true,
    });
    expect(up).toMatchObject({ dryRun: true, changed: 4 });
    expect(fake.calls).toHaveLength(before);
  });

  test("B9: what is asked goes to the run, with who asks", async () => {
    expect(await send("clear", { tasks: [{ taskId: "load" }], downstream: true })).toEqual({
      dagId: "sales",
      runId: "2026-05-09T00-00-00Z",
      dryRun: false,
      changed: 1,
      removed: 0,
      cells: [],
    });
    await send("mark", { as: "failed", tasks: [{ taskId: "list" }] });
    await send("end", { as: "cancelled" });
    const asked = fake.calls.slice(-3).map(([kind, request]) => [kind, request]);
    expect(asked).toMatchObject([
      [
        "command",
        {
          dagId: "sales",
          runId: "2026-05-09T00-00-00Z",
          command: {
            kind: "clear",
            selection: { tasks: [{ taskId: "load" }], downstream: true, upstream: false },
          },
        },
      ],
      ["command", { command: { kind: "mark", as: "failed" } }],
      [
        "command",
        {
          command: {
            kind: "end",
            as: "cancelled",
            reason: expect.stringContaining("cancelled by") as string,
          },
        },
      ],
    ]);
  });

  test("B9: a range of runs, oldest first; each says what became of it", async () => {
    for (const day of ["2026-06-02", "2026-06-01", "2026-06-03"])
      await insertRun(database.pool, "sales", `${day}T00:00:00Z`);
    const before = fake.calls.length;
    const answer = async (body: object) => {
      const response = await post(app, "/dags/sales/clear", body);
      expect(response.status).toBe(200);
      return RunsCleared.parse(await response.json());
    };
    const range = { from: "2026-06-01T00:00:00Z", until: "2026-06-03T00:00:00Z" };
    const dry = await answer({ ...range, dryRun: true });
    expect(dry.runs).toEqual([
      { runId: "2026-06-01T00-00-00Z", changed: 0, refused: null },
      { runId: "2026-06-02T00-00-00Z", changed: 0, refused: null },
    ]);
    expect(fake.calls).toHaveLength(before);
    const done = await answer({ ...range, tasks: [{ taskId: "load" }], downstream: true });
    expect(done.runs.map((run) => [run.runId, run.changed])).toEqual([
      ["2026-06-01T00-00-00Z", 1],
      ["2026-06-02T00-00-00Z", 1],
    ]);
    expect(fake.calls.slice(before).map(([, request]) => (request as { runId: string }).runId)).toEqual([
      "2026-06-01T00-00-00Z",
      "2026-06-02T00-00-00Z",
    ]);
    const unknown = await answer({ ...range, dryRun: true, tasks: [{ taskId: "nope" }] });
    expect(unknown.runs[0]!.refused).toMatchObject({ code: "no_task" });
    await problemOf(await post(app, "/dags/nope/clear", range), 404);
    await problemOf(await post(app, "/dags/sales/clear", { from: "2026-06-01" }), 400);
  });

  test("B2 B9: with the version in force: what runs again, what is new, what is no more", async () => {
    const pool = database.pool;
    const first = await insertDag(pool, "moved", {
      tasks: [serialTask("a"), serialTask("b", [0]), serialTask("d", [0]), serialTask("m", [], { map: 0 })],
    });
    const path = "/dags/moved/runs/2026-05-09T00-00-00Z/clear";
    const run = await insertRun(pool, "moved", "2026-05-09T00:00:00Z", { state: "failed" });
    await insertCell(pool, run, "a", "success");
    const rig = new Rig({
      tasks: [task("a"), task("b", [0]), task("d", [0]), task("m", [], { map: 0, items: { item: "item" } })],
      maps: [over([1, 2])],
    });
    rig.drain((name) => (name === "b" ? failed : success));
    await pool.query("update app.dag_run set run_state = $2 where run = $1", [run, pack(rig.progress)]);
    const moved = async (body: object) => {
      const response = await post(movedApp, path, { version: "latest", ...body });
      expect(response.status).toBe(200);
      return CommandDone.parse(await response.json());
    };
    const movedFake = fakeClient(["moved"]);
    const movedApp = testApp({ db: pool, client: movedFake.client });
    // The version in force is its own: nothing to choose.
    expect(await moved({ dryRun: true, tasks: [{ taskId: "a" }] })).toMatchObject({ changed: 1, removed: 0 });
    await moved({ tasks: [{ taskId: "a" }] });
    expect(movedFake.calls.at(-1)![1]).not.toHaveProperty("command.version");

    const second = await insertVersion(pool, "moved", [
      serialTask("new"),
      serialTask("b", [2]),
      serialTask("a"),
      serialTask("m"),
    ]);
    expect(second).not.toBe(first);
    const dry = await moved({ dryRun: true, onlyFailed: true });
    expect(dry).toMatchObject({ changed: 3, removed: 3 });
    expect(dry.cells.map((cell) => [cell.taskId, cell.mapIndex, cell.state, cell.change])).toEqual([
      ["b", -1, "failed", null],
      ["new", -1, "none", "new"],
      ["m", -1, "none", "anew"],
      ["m", 0, "success", "removed"],
      ["m", 1, "success", "removed"],
      ["d", -1, "success", "removed"],
    ]);
    const before = movedFake.calls.length;
    await problemOf(
      await post(movedApp, path, { version: "latest", dryRun: true, tasks: [{ taskId: "d" }] }),
      404,
    );
    expect(movedFake.calls).toHaveLength(before);
    await moved({ onlyFailed: true });
    expect(movedFake.calls.at(-1)![1]).toMatchObject({ command: { kind: "clear", version: second } });
    await post(movedApp, path, { version: "original", onlyFailed: true });
    expect(movedFake.calls.at(-1)![1]).not.toHaveProperty("command.version");

    const refused = async (status: number) =>
      await problemOf(await post(movedApp, path, { version: "latest", dryRun: true }), status);
    await pool.query("update app.dag_run set state = 'running' where run = $1", [run]);
    expect(await refused(409)).toMatchObject({
      code: "run_open",
      detail: expect.stringContaining("wait for its end") as string,
    });
    await pool.query("update app.dag_run set state = 'failed', run_state = null where run = $1", [run]);
    expect(await refused(409)).toMatchObject({ code: "run_forgotten" });
    await pool.query("update app.dag set active = false where dag_id = 'moved'");
    expect(await refused(400)).toMatchObject({ code: "inactive_dag" });
  });

  test.each([
    ["clear", { tasks: [{ taskId: "../x" }] }],
    ["clear", { tasks: [{ taskId: "a", mapIndex: -1 }] }],
    ["clear", { everything: true }],
    ["mark", { as: "running" }],
    ["mark", {}],
    ["end", { as: "success" }],
  ])("a body that does not fit is refused: %s %j", async (path, body) => {
    await problemOf(await post(app, `${RUN}/${path}`, body), 400);
  });

  test("what is not there is told as such", async () => {
    const unknown = await problemOf(
      await post(app, `${RUN}/clear`, { dryRun: true, tasks: [{ taskId: "lod" }] }),
      404,
    );
    expect(unknown).toMatchObject({ code: "no_task" });
    const group = await problemOf(await post(app, `${RUN}/clear`, { groups: ["g"] }), 404);
    expect(group).toMatchObject({ code: "no_group" });
    await problemOf(await post(app, "/dags/sales/runs/2026-05-10T00-00-00Z/clear", { dryRun: true }), 404);
  });
});
