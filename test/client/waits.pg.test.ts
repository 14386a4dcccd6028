import type { Client } from "@temporalio/client";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createClient } from "../../client/client.ts";
import { RunStarter } from "../../client/starter.ts";
import type { EndWaitRequest, MeridianClient } from "../../client/types.ts";
import { tellWaits } from "../../client/waker.ts";
import { MeridianError } from "../../core/errors.ts";
import type { SerialTask } from "../../core/graph.ts";
import { runIdOf, workflowIdOf } from "../../core/ids.ts";
import type { SerialEvent, SerialWait } from "../../core/waits.ts";
import { transaction } from "../../db/connection.ts";
import { beginWaits, endEvent, lookAtWaits, type NewWait } from "../../db/waits.ts";
import type { WokenMessage } from "../../workflows/messages.ts";
import { insertCell, insertDag, insertRun, insertVersion } from "../api/rows.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { serialTask } from "../support/serial.ts";

let database: TestDatabase;
let client: MeridianClient;
let run: number;
let runId: string;
let day = 0;
/** What the run was told, and what telling it does first. */
let told: WokenMessage[] = [];
let onSignal: () => void = () => undefined;

const temporal = {
  workflow: {
    getHandle: (workflowId: string) => ({
      signal: async (_signal: unknown, messages: WokenMessage[]) => {
        if (workflowId !== workflowIdOf("orders", runId)) return;
        onSignal();
        told.push(...messages);
      },
    }),
  },
} as unknown as Client;

beforeAll(async () => {
  database = await createTestDatabase("waits", 10);
  const { pool } = database;
  const onError = (): void => undefined;
  const starter = new RunStarter({
    pool,
    temporal,
    taskQueue: "q",
    lostAfterMs: 15_000,
    turnOverEvents: 10_000,
    eager: false,
    onError,
  });
  client = createClient({ pool, starter, clock: Date.now });
  await insertDag(pool, "orders");
});
afterAll(() => database.drop());
beforeEach(() => {
  told = [];
  runId = "";
  onSignal = () => undefined;
});

const event = (more: Partial<SerialEvent> = {}): SerialEvent => ({
  kind: "event",
  payload: null,
  timeoutMs: null,
  ...more,
});
const waiting = (id: string, wait: SerialWait = event(), more: Partial<SerialTask> = {}): SerialTask =>
  serialTask(id, [], { wait, ...more });

/** A running run of a version with these tasks. */
async function newRun(tasks: readonly SerialTask[]): Promise<void> {
  await insertVersion(database.pool, "orders", tasks);
  const date = new Date(Date.UTC(2026, 0, 1 + day++)).toISOString();
  run = await insertRun(database.pool, "orders", date, { state: "running" });
  runId = runIdOf(Date.parse(date));
}

/** A task begins to wait, as its run writes it. */
const begin = async (taskId: string, more: Partial<NewWait> = {}): Promise<boolean> =>
  await transaction(database.pool, async (db) => {
    const key = { run, task_id: taskId, map_index: -1, try: 1, wait: 1, ...more };
    await db.query(
      `insert into app.cell (run, task_id, map_index, state, try, phase) values ($1, $2, $3, 'deferred', $4, -1)
       on conflict on constraint cell_pkey do update set state = 'deferred', try = excluded.try`,
      [run, taskId, key.map_index, key.try],
    );
    return await beginWaits(db, [{ ...key, kind: "event", resumes: false, spec: {}, ...more }]);
  });

const byName = (taskId: string, mapIndex = -1): EndWaitRequest["at"] => ({
  dagId: "orders",
  runId,
  taskId,
  mapIndex,
});
const byAddress = (taskId: string, number = 1): EndWaitRequest["at"] => ({
  run,
  taskId,
  mapIndex: -1,
  try: number,
  wait: 1,
});

const end = async (at: EndWaitRequest["at"], payload: unknown = null): Promise<string> => {
  try {
    await client.endWait({ at, payload, who: "ann" });
    return "ended";
  } catch (error) {
    if (error instanceof MeridianError) return error.code;
    throw error;
  }
};
const refusal = async (work: Promise<unknown>): Promise<MeridianError> => {
  const error = await work.then(
    () => null,
    (e: unknown) => e,
  );
  if (error instanceof MeridianError) return error;
  throw new Error("expected a refusal", { cause: error });
};

interface Row {
  readonly task_id: string;
  readonly try: number;
  readonly begun: boolean;
  readonly ended_as: string | null;
  readonly ended_by: string | null;
  readonly payload: unknown;
}
const rows = async (): Promise<Row[]> =>
  (
    await database.pool.query<Row>(
      `select task_id, try, begun_at is not null as begun, ended_as, ended_by, payload from app.wait where run = $1
       order by task_id collate "C", map_index, try, wait`,
      [run],
    )
  ).rows;
const toldTasks = (): string[] => told.map(({ taskId }) => taskId).sort();
/** What no process has told yet, as the outbox of any other one finds it when its turn has come. */
async function tellTheRest(): Promise<void> {
  await database.pool.query("update app.wait set tell_after = app.now() where run = $1 and not known", [run]);
  await tellWaits({
    pool: database.pool,
    temporal,
    onError: (error) => {
      throw error;
    },
  });
}

const N = 500;
const names = Array.from({ length: N }, (_, i) => `t${String(i).padStart(3, "0")}`);
const all = async <T>(work: (name: string, i: number) => Promise<T>): Promise<T[]> =>
  await Promise.all(names.map(work));

describe("K39: events and waits cross", () => {
  it("K39: (a) 500 events that come just before their waits end them all, and the run is told of each", async () => {
    await newRun(names.map((name) => waiting(name)));
    expect(new Set(await all(async (name, i) => await end(byName(name), { i })))).toEqual(new Set(["ended"]));
    expect((await rows()).filter((row) => row.begun)).toEqual([]);
    // Nobody is told of a wait that has not begun.
    expect(told).toEqual([]);
    expect(new Set(await all(async (name) => await begin(name)))).toEqual(new Set([true]));
    await tellTheRest();
    expect([...new Set(toldTasks())]).toEqual(names);
    const after = await rows();
    expect(after).toEqual(
      names.map((name, i) => ({
        task_id: name,
        try: 1,
        begun: true,
        ended_as: "success",
        ended_by: "ann",
        payload: { i },
      })),
    );
    const outputs = await database.pool.query(
      "select output from app.task_try where run = $1 order by task_id",
      [run],
    );
    expect(outputs.rows.map((row) => row.output)).toEqual(names.map((_, i) => ({ i })));
  });

  it("K39: (a) 500 events in the moment in which their waits begin, by name and by address: none is lost", async () => {
    await newRun(names.map((name) => waiting(name)));
    const answers = await all(async (name, i) => {
      const at = i % 2 === 0 ? byName(name) : byAddress(name);
      const both = i % 3 === 0 ? [end(at, i), begin(name)] : [begin(name), end(at, i)];
      return (await Promise.all(both)).find((one) => typeof one === "string");
    });
    expect(new Set(answers)).toEqual(new Set(["ended"]));
    await tellTheRest();
    expect([...new Set(toldTasks())]).toEqual(names);
    expect((await rows()).map((row) => [row.begun, row.payload])).toEqual(names.map((_, i) => [true, i]));
  });

  it("K39: (b) of three events at once one ends the wait, the others are told that it has ended", async () => {
    await newRun(names.map((name) => waiting(name)));
    const answers = await all(async (name, i) => {
      const sent = [0, 1, 2].map(
        async (n) => await end(n === 1 ? byAddress(name) : byName(name), `${name} ${n}`),
      );
      const begun = i % 2 === 0 ? [begin(name)] : [];
      const got = await Promise.all(sent);
      await Promise.all(begun);
      return got;
    });
    const kept = (await rows()).map((row) => row.payload);
    for (const [i, got] of answers.entries()) {
      expect(got.toSorted()).toEqual(["already_ended", "already_ended", "ended"]);
      // What the one that ended it brought, and nothing of the others.
      expect(kept[i]).toBe(`${names[i]} ${got.indexOf("ended")}`);
    }
    const audits = await database.pool.query(
      "select who, detail from app.audit where run_id = $1 and action = 'end_wait'",
      [runId],
    );
    expect(audits.rows).toHaveLength(N);
    expect(audits.rows[0]).toMatchObject({ who: "ann", detail: { mapIndex: -1, try: 1, wait: 1 } });
  });

  it("K39: (c) after the time-out all are too late, whether it was seen or not; a later try is untouched", async () => {
    await newRun(names.map((name) => waiting(name, event({ timeoutMs: 1 }))));
    await all(async (name) => await begin(name, { expires_in_ms: -1 }));
    const looking = lookAtWaits(database.pool, 200);
    const answers = await all(async (name, i) => await end(i % 2 === 0 ? byName(name) : byAddress(name), i));
    expect(new Set(answers)).toEqual(new Set(["too_late"]));
    await looking;
    while (await lookAtWaits(database.pool, 200));
    expect(new Set((await rows()).map((row) => row.ended_as))).toEqual(new Set(["expired"]));
    await all(async (name) => await begin(name, { try: 2 }));
    expect(new Set(await all(async (name) => await end(byAddress(name, 1))))).toEqual(new Set(["too_late"]));
    const second = (await rows()).filter((row) => row.try === 2);
    expect(second.map((row) => [row.begun, row.ended_as])).toEqual(names.map(() => [true, null]));
    expect(new Set(await all(async (name) => await end(byName(name), "now")))).toEqual(new Set(["ended"]));
    expect((await rows()).filter((row) => row.try === 2 && row.payload !== "now")).toEqual([]);
  });

  it.each([1, 2])("K39: whatever comes when (seed %d), every answer is what the row says", async (seed) => {
    await newRun(names.map((name) => waiting(name)));
    let state = seed * 2_654_435_761;
    const random = (n: number): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * n);
    };
    // Of each: how many events, whether its time-out is past, and in which order all of it is sent.
    const plans = names.map(() => ({
      events: random(4),
      late: random(4) === 0,
      begins: random(5) > 0,
      beginsAt: random(4),
      rest: random(30),
    }));
    const looking = (async () => {
      for (let n = 0; n < 30; n++) await lookAtWaits(database.pool, 20);
    })();
    const answers = await all(async (name, i) => {
      const { events, late, begins, beginsAt, rest } = plans[i]!;
      const works: Promise<string | null>[] = [];
      for (let n = 0; n <= events; n++) {
        if (n === Math.min(beginsAt, events) && begins)
          works.push(begin(name, late ? { expires_in_ms: -1 } : {}).then(() => null));
        if (n < events) works.push(end(n % 2 === 0 ? byName(name) : byAddress(name), n));
        if (rest % 3 === 0) await Promise.all(works);
      }
      return (await Promise.all(works)).filter((one) => one !== null);
    });
    await looking;
    while (await lookAtWaits(database.pool, 100));
    await tellTheRest();
    const found = new Map((await rows()).map((row) => [row.task_id, row]));
    for (const [i, got] of answers.entries()) {
      const { events, late, begins } = plans[i]!;
      const row = found.get(names[i]!);
      const ended = got.filter((one) => one === "ended").length;
      const about = { name: names[i], plan: plans[i], got, row };
      expect([got.length, about]).toEqual([events, about]);
      if (row?.ended_as === "success") {
        const others = events - 1;
        expect([...got].sort(), JSON.stringify(about)).toEqual([
          ...Array.from({ length: others }, () => "already_ended"),
          "ended",
        ]);
        // Asked by its number, odd ones by the address.
        expect(row.payload).toBe(got.indexOf("ended"));
      } else {
        expect(ended, JSON.stringify(about)).toBe(0);
        expect(new Set(got)).toEqual(new Set(events > 0 ? ["too_late"] : []));
        expect(row?.ended_as ?? null).toBe(begins && late ? "expired" : null);
      }
      expect(row?.begun ?? false).toBe(begins);
      const isTold = row !== undefined && row.begun && row.ended_as !== null;
      expect([names[i], told.some(({ taskId }) => taskId === names[i])]).toEqual([names[i], isTold]);
    }
  });

  it("K39: a process that dies before it has told the run: any other one tells it", async () => {
    await newRun(names.map((name) => waiting(name)));
    await all(async (name) => await begin(name));
    let tried = 0;
    onSignal = () => {
      tried += 1;
      throw new Error("killed");
    };
    expect(new Set(await all(async (name) => await end(byName(name))))).toEqual(new Set(["ended"]));
    await expect.poll(() => tried).toBeGreaterThan(0);
    expect(told).toEqual([]);
    onSignal = () => undefined;
    await tellTheRest();
    expect([...new Set(toldTasks())]).toEqual(names);
  });

  it("K39: a process that dies before its end is committed has ended nothing: the event that comes again does", async () => {
    await newRun([waiting("approval")]);
    await begin("approval");
    const dying = await database.pool.connect();
    dying.on("error", () => undefined);
    await dying.query("begin");
    const asked = {
      run,
      task_id: "approval",
      map_index: -1,
      try: 1,
      wait: 1,
      payload: "1",
      who: "x",
      detail: null,
    };
    expect((await endEvent(dying, asked)).answer).toBe("ended");
    const again = end(byName("approval"), 2);
    dying.release(new Error("killed"));
    expect(await again).toBe("ended");
    expect(await rows()).toMatchObject([{ ended_as: "success", ended_by: "ann", payload: 2 }]);
  });
});

describe("A6: who may end what", () => {
  it("A6: an unknown run, task or instance, and a task that waits for nothing, say so", async () => {
    await newRun([waiting("approval"), serialTask("load"), serialTask("body")]);
    expect(
      await refusal(
        client.endWait({ at: { ...byName("approval"), dagId: "x" } as never, payload: 1, who: "a" }),
      ),
    ).toMatchObject({
      kind: "not_found",
      code: "no_run",
    });
    const unknown = await refusal(client.endWait({ at: byName("aproval"), payload: 1, who: "a" }));
    expect(unknown).toMatchObject({ kind: "not_found", code: "no_task" });
    expect(unknown.message).toContain(`did you mean "approval"?`);
    expect(await end(byName("approval", 3))).toBe("no_task");
    expect(await refusal(client.endWait({ at: byName("load"), payload: 1, who: "a" }))).toMatchObject({
      kind: "conflict",
      code: "not_waiting",
      message: `task "load" of run "${runId}" of dag "orders" waits for nothing now: it has not begun`,
    });
    await insertCell(database.pool, run, "load", "running");
    expect(await end(byName("load"))).toBe("not_waiting");
    expect(await rows()).toEqual([]);
  });

  it("A6: a body that waits for somebody can be ended by name while it does, and then no more", async () => {
    await newRun([serialTask("body")]);
    await begin("body", { resumes: true });
    expect(await end(byName("body"), { go: true })).toBe("ended");
    expect(await end(byName("body"))).toBe("already_ended");
    await database.pool.query("update app.wait set known = true where run = $1", [run]);
    await database.pool.query("update app.cell set state = 'running' where run = $1", [run]);
    expect(await end(byName("body"))).toBe("not_waiting");
    // Its second wait in the same try is another one.
    await begin("body", { resumes: true, wait: 2 });
    expect(await end(byName("body"), 2)).toBe("ended");
    expect((await rows()).map((row) => row.payload)).toEqual([{ go: true }, 2]);
  });

  it("A6: what ends by itself is ended by nobody: sensors, times, other runs", async () => {
    const every = { everyMs: 60_000, timeoutMs: null };
    await newRun([
      waiting("file", { kind: "sensor", ...every }),
      waiting("noon", { kind: "until", time: "12:00" }),
      waiting("other", { kind: "run", dagId: "x", taskId: null, beforeMs: 0, ...every }),
    ]);
    for (const [name, kind] of [
      ["file", "sensor"],
      ["noon", "time"],
      ["other", "run"],
    ] as const) {
      await begin(name, { kind, next_in_ms: 60_000 });
      expect(await end(byName(name))).toBe("not_an_event");
    }
    expect((await rows()).map((row) => row.ended_as)).toEqual([null, null, null]);
    // A sensor's body may have given its own address away.
    expect(await end(byAddress("file"), { n: 1 })).toBe("ended");
  });

  it("A6: a payload that does not fit is refused with its paths, and the wait goes on", async () => {
    const payload = {
      type: "object",
      properties: { approved: { type: "boolean" }, note: { type: "string" } },
      required: ["approved"],
      additionalProperties: false,
    };
    await newRun([waiting("approval", event({ payload }))]);
    await begin("approval");
    for (const at of [byName("approval"), byAddress("approval")]) {
      expect(await refusal(client.endWait({ at, payload: { aproved: true }, who: "a" }))).toMatchObject({
        kind: "refused",
        code: "bad_payload",
        message:
          'payload does not fit what task "approval" waits for: aproved: does not exist; did you mean "approved"?; approved: is missing; expected boolean; it still waits',
        details: {
          errors: [
            { path: "aproved", message: 'does not exist; did you mean "approved"?' },
            { path: "approved", message: "is missing; expected boolean" },
          ],
        },
      });
    }
    expect(await end(byName("approval"), null)).toBe("bad_payload");
    expect(await end(byName("approval"), { approved: true })).toBe("ended");
  });

  it("A6 A7: of a payload that tasks are mapped over the run is told how long it is; what is no list is refused", async () => {
    await insertVersion(database.pool, "orders", []);
    await newRun([waiting("files"), serialTask("load", [0], { map: 0, items: { file: "file" } })]);
    await database.pool.query(
      `update app.dag_version v set graph = graph || '{"maps": [{"group": null, "over": {"file": 0}, "how": "product", "batch": null, "max": 3}]}'
       from app.dag_run r where r.run = $1 and v.version = r.version`,
      [run],
    );
    await begin("files");
    expect((await refusal(client.endWait({ at: byName("files"), payload: "abc", who: "a" }))).message).toBe(
      'payload does not fit what task "files" waits for: is the text "abc"; expected a list, since tasks are mapped over it; it still waits',
    );
    expect(await end(byName("load"))).toBe("no_index");
    expect(await end(byName("load", 3))).toBe("no_task");
    expect(await end(byName("load", 2))).toBe("not_waiting");
    expect(await end(byName("files"), ["a", "b"])).toBe("ended");
    await expect
      .poll(() => told)
      .toMatchObject([{ taskId: "files", end: { kind: "success", measured: { items: 2 } } }]);
  });

  it("A6: a run that is over is told so, whatever is sent", async () => {
    await newRun([waiting("a", event({ payload: { type: "object" } })), waiting("b"), serialTask("load")]);
    await begin("a");
    expect(await end(byName("a"), {})).toBe("ended");
    await database.pool.query("update app.dag_run set state = 'failed' where run = $1", [run]);
    await database.pool.query("update app.wait set known = true where run = $1", [run]);
    expect(await end(byName("a"), "no object")).toBe("already_ended");
    expect(await end(byAddress("a"))).toBe("already_ended");
    for (const at of [byName("b"), byAddress("b"), byName("load")]) expect(await end(at)).toBe("too_late");
  });

  it("A6: a wait that its task never came to, being skipped, is too late to be ended", async () => {
    await newRun([waiting("approval"), waiting("other")]);
    await insertCell(database.pool, run, "approval", "skipped", { try: 0 });
    await insertCell(database.pool, run, "other", "upstream_failed", { try: 0 });
    for (const name of ["approval", "other"])
      for (const at of [byName(name), byAddress(name)]) expect(await end(at)).toBe("too_late");
    expect(await rows()).toEqual([]);
  });
});

describe("A6: check now", () => {
  it("A6: a poked sensor is due at once, and so is a wait for another run; it is written who asked", async () => {
    const every = { everyMs: 3_600_000, timeoutMs: null };
    await newRun([
      waiting("file", { kind: "sensor", ...every }),
      waiting("other", { kind: "run", dagId: "x", taskId: null, beforeMs: 0, ...every }),
    ]);
    for (const [name, kind] of [
      ["file", "sensor"],
      ["other", "run"],
    ] as const) {
      await begin(name, { kind, next_in_ms: 3_600_000, every_ms: 3_600_000 });
      const at = { dagId: "orders", runId, taskId: name, mapIndex: -1, who: "ann" };
      expect(await client.checkWait(at)).toMatchObject({ taskId: name, try: 1, wait: 1 });
    }
    const due = await database.pool.query("select from app.wait where run = $1 and next_at <= app.now()", [
      run,
    ]);
    expect(due.rowCount).toBe(2);
    const audits = await database.pool.query(
      "select who, action, detail->>'taskId' as task from app.audit where run_id = $1 order by id",
      [runId],
    );
    expect(audits.rows).toEqual([
      { who: "ann", action: "poke_wait", task: "file" },
      { who: "ann", action: "poke_wait", task: "other" },
    ]);
  });

  it("A6: what cannot be checked now says why", async () => {
    await newRun([waiting("approval"), waiting("file", { kind: "sensor", everyMs: 1, timeoutMs: null })]);
    const poke = async (taskId: string): Promise<string> =>
      (await refusal(client.checkWait({ dagId: "orders", runId, taskId, mapIndex: -1, who: "a" }))).code;
    expect(await poke("file")).toBe("not_waiting");
    await begin("approval");
    expect(await poke("approval")).toBe("nothing_to_check");
    await begin("file", { kind: "sensor", every_ms: 60_000, next_in_ms: 60_000 });
    await database.pool.query(
      "update app.wait set claimed_by = 'w', claimed_until = app.now() + interval '10 seconds' where task_id = 'file' and run = $1",
      [run],
    );
    expect(await poke("file")).toBe("check_under_way");
    expect(await end(byAddress("file"))).toBe("ended");
    expect(await poke("file")).toBe("already_ended");
  });
});
