import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { insertCell } from "../api/rows.ts";
import { serialTask } from "../support/serial.ts";
import { event, refusal, waiting, WaitsRig } from "./waits-rig.ts";

let rig: WaitsRig;
beforeAll(async () => {
  rig = await WaitsRig.make(3);
});
afterAll(() => rig.database.drop());

describe("A6: who may end what", () => {
  it("A6: an unknown run, task or instance, and a task that waits for nothing, say so", async () => {
    await rig.newRun([waiting("approval"), serialTask("load"), serialTask("body")]);
    expect(
      await refusal(
        rig.client.endWait({ at: { ...rig.byName("approval"), dagId: "x" }, payload: 1, who: "a" }),
      ),
    ).toMatchObject({
      kind: "not_found",
      code: "no_run",
    });
    const unknown = await refusal(rig.client.endWait({ at: rig.byName("aproval"), payload: 1, who: "a" }));
    expect(unknown).toMatchObject({ kind: "not_found", code: "no_task" });
    expect(unknown.message).toContain(`did you mean "approval"?`);
    expect(await rig.end(rig.byName("approval", 3))).toBe("no_task");
    expect(await refusal(rig.client.endWait({ at: rig.byName("load"), payload: 1, who: "a" }))).toMatchObject(
      {
        kind: "conflict",
        code: "not_waiting",
        message: `task "load" of run "${rig.runId}" of dag "orders" waits for nothing now: it has not begun`,
      },
    );
    await insertCell(rig.database.pool, rig.run, "load", "running");
    expect(await rig.end(rig.byName("load"))).toBe("not_waiting");
    expect(await rig.rows()).toEqual([]);
  });

  it("A6: a body that waits for somebody can be ended by name while it does, and then no more", async () => {
    await rig.newRun([serialTask("body")]);
    await rig.begin("body", { resumes: true });
    expect(await rig.end(rig.byName("body"), { go: true })).toBe("ended");
    expect(await rig.end(rig.byName("body"))).toBe("already_ended");
    await rig.database.pool.query("update app.wait set known = true where run = $1", [rig.run]);
    await rig.database.pool.query("update app.cell set state = 'running' where run = $1", [rig.run]);
    expect(await rig.end(rig.byName("body"))).toBe("not_waiting");
    // Its second wait in the same try is another one.
    await rig.begin("body", { resumes: true, wait: 2 });
    expect(await rig.end(rig.byName("body"), 2)).toBe("ended");
    expect((await rig.rows()).map((row) => row.payload)).toEqual([{ go: true }, 2]);
  });

  it("A6: what ends by itself is ended by nobody: sensors, times, other runs", async () => {
    const every = { everyMs: 60_000, timeoutMs: null };
    await rig.newRun([
      waiting("file", { kind: "sensor", ...every }),
      waiting("noon", { kind: "until", time: "12:00" }),
      waiting("other", { kind: "run", dagId: "x", taskId: null, beforeMs: 0, ...every }),
    ]);
    for (const [name, kind] of [
      ["file", "sensor"],
      ["noon", "time"],
      ["other", "run"],
    ] as const) {
      await rig.begin(name, { kind, next_in_ms: 60_000 });
      expect(await rig.end(rig.byName(name))).toBe("not_an_event");
    }
    expect((await rig.rows()).map((row) => row.ended_as)).toEqual([null, null, null]);
    // A sensor's body may have given its own address away.
    expect(await rig.end(rig.byAddress("file"), { n: 1 })).toBe("ended");
  });

  it("A6: a payload that does not fit is refused with its paths, and the wait goes on", async () => {
    const payload = {
      type: "object",
      properties: { approved: { type: "boolean" }, note: { type: "string" } },
      required: ["approved"],
      additionalProperties: false,
    };
    await rig.newRun([waiting("approval", event({ payload }))]);
    await rig.begin("approval");
    for (const at of [rig.byName("approval"), rig.byAddress("approval")]) {
      expect(await refusal(rig.client.endWait({ at, payload: { aproved: true }, who: "a" }))).toMatchObject({
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
    expect(await rig.end(rig.byName("approval"), null)).toBe("bad_payload");
    expect(await rig.end(rig.byName("approval"), { approved: true })).toBe("ended");
  });

  it("A6 A7: of a payload that tasks are mapped over the run is told how long it is; what is no list is refused", async () => {
    await rig.newRun([waiting("files"), serialTask("load", [0], { map: 0, items: { file: "file" } })]);
    await rig.database.pool.query(
      `update app.dag_version v set graph = graph || '{"maps": [{"group": null, "over": {"file": 0}, "how": "product", "batch": null, "max": 3}]}'
       from app.dag_run r where r.run = $1 and v.version = r.version`,
      [rig.run],
    );
    await rig.begin("files");
    expect(
      (await refusal(rig.client.endWait({ at: rig.byName("files"), payload: "abc", who: "a" }))).message,
    ).toBe(
      'payload does not fit what task "files" waits for: is the text "abc"; expected a list, since tasks are mapped over it; it still waits',
    );
    expect(await rig.end(rig.byName("load"))).toBe("no_index");
    expect(await rig.end(rig.byName("load", 3))).toBe("no_task");
    expect(await rig.end(rig.byName("load", 2))).toBe("not_waiting");
    expect(await rig.end(rig.byName("files"), ["a", "b"])).toBe("ended");
    await expect
      .poll(() => rig.told)
      .toMatchObject([{ taskId: "files", end: { kind: "success", measured: { items: 2 } } }]);
  });

  it("A6: a run that is over is told so, whatever is sent", async () => {
    await rig.newRun([
      waiting("a", event({ payload: { type: "object" } })),
      waiting("b"),
      serialTask("load"),
    ]);
    await rig.begin("a");
    expect(await rig.end(rig.byName("a"), {})).toBe("ended");
    await rig.database.pool.query("update app.dag_run set state = 'failed' where run = $1", [rig.run]);
    await rig.database.pool.query("update app.wait set known = true where run = $1", [rig.run]);
    expect(await rig.end(rig.byName("a"), "no object")).toBe("already_ended");
    expect(await rig.end(rig.byAddress("a"))).toBe("already_ended");
    for (const at of [rig.byName("b"), rig.byAddress("b"), rig.byName("load")])
      expect(await rig.end(at)).toBe("too_late");
  });

  it("A6: a wait that its task never came to, being skipped, is too late to be ended", async () => {
    await rig.newRun([waiting("approval"), waiting("other")]);
    await insertCell(rig.database.pool, rig.run, "approval", "skipped", { try: 0 });
    await insertCell(rig.database.pool, rig.run, "other", "upstream_failed", { try: 0 });
    for (const name of ["approval", "other"])
      for (const at of [rig.byName(name), rig.byAddress(name)]) expect(await rig.end(at)).toBe("too_late");
    expect(await rig.rows()).toEqual([]);
  });
});

describe("A6: check now", () => {
  it("A6: a poked sensor is due at once, and so is a wait for another run; it is written who asked", async () => {
    const every = { everyMs: 3_600_000, timeoutMs: null };
    await rig.newRun([
      waiting("file", { kind: "sensor", ...every }),
      waiting("other", { kind: "run", dagId: "x", taskId: null, beforeMs: 0, ...every }),
    ]);
    for (const [name, kind] of [
      ["file", "sensor"],
      ["other", "run"],
    ] as const) {
      await rig.begin(name, { kind, next_in_ms: 3_600_000, every_ms: 3_600_000 });
      const at = { dagId: "orders", runId: rig.runId, taskId: name, mapIndex: -1, who: "ann" };
      expect(await rig.client.checkWait(at)).toMatchObject({ taskId: name, try: 1, wait: 1 });
    }
    const due = await rig.database.pool.query(
      "select from app.wait where run = $1 and next_at <= app.now()",
      [rig.run],
    );
    expect(due.rowCount).toBe(2);
    const audits = await rig.database.pool.query(
      "select who, action, detail->>'taskId' as task from app.audit where run_id = $1 order by id",
      [rig.runId],
    );
    expect(audits.rows).toEqual([
      { who: "ann", action: "poke_wait", task: "file" },
      { who: "ann", action: "poke_wait", task: "other" },
    ]);
  });

  it("A6: what cannot be checked now says why", async () => {
    await rig.newRun([waiting("approval"), waiting("file", { kind: "sensor", everyMs: 1, timeoutMs: null })]);
    const poke = async (taskId: string): Promise<string> =>
      (
        await refusal(
          rig.client.checkWait({ dagId: "orders", runId: rig.runId, taskId, mapIndex: -1, who: "a" }),
        )
      ).code;
    expect(await poke("file")).toBe("not_waiting");
    await rig.begin("approval");
    expect(await poke("approval")).toBe("nothing_to_check");
    await rig.begin("file", { kind: "sensor", every_ms: 60_000, next_in_ms: 60_000 });
    await rig.database.pool.query(
      "update app.wait set claimed_by = 'w', claimed_until = app.now() + interval '10 seconds' where task_id = 'file' and run = $1",
      [rig.run],
    );
    expect(await poke("file")).toBe("check_under_way");
    expect(await rig.end(rig.byAddress("file"))).toBe("ended");
    expect(await poke("file")).toBe("already_ended");
  });
});
