import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { endEvent, lookAtWaits } from "../../db/waits.ts";
import { event, waiting, WaitsRig } from "./waits-rig.ts";

let rig: WaitsRig;
beforeAll(async () => {
  rig = await WaitsRig.make(10);
});
afterAll(() => rig.database.drop());

const N = 500;
const names = Array.from({ length: N }, (_, i) => `t${String(i).padStart(3, "0")}`);
const all = async <T>(work: (name: string, i: number) => Promise<T>): Promise<T[]> =>
  await Promise.all(names.map(work));

describe("K39: events and waits cross", () => {
  it("K39: (a) 500 events that come just before their waits end them all, and the run is told of each", async () => {
    await rig.newRun(names.map((name) => waiting(name)));
    expect(new Set(await all(async (name, i) => await rig.end(rig.byName(name), { i })))).toEqual(
      new Set(["ended"]),
    );
    expect((await rig.rows()).filter((row) => row.begun)).toEqual([]);
    // Nobody is told of a wait that has not begun.
    expect(rig.told).toEqual([]);
    expect(new Set(await all(async (name) => await rig.begin(name)))).toEqual(new Set([true]));
    await rig.tellTheRest();
    expect(rig.toldTasks()).toEqual(names);
    const after = await rig.rows();
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
    const outputs = await rig.database.pool.query(
      "select output from app.task_try where run = $1 order by task_id",
      [rig.run],
    );
    expect(outputs.rows.map((row) => row.output)).toEqual(names.map((_, i) => ({ i })));
  });

  it("K39: (a) 500 events in the moment in which their waits begin, by name and by address: none is lost", async () => {
    await rig.newRun(names.map((name) => waiting(name)));
    const answers = await all(async (name, i) => {
      const at = i % 2 === 0 ? rig.byName(name) : rig.byAddress(name);
      const both = i % 3 === 0 ? [rig.end(at, i), rig.begin(name)] : [rig.begin(name), rig.end(at, i)];
      return (await Promise.all(both)).find((one) => typeof one === "string");
    });
    expect(new Set(answers)).toEqual(new Set(["ended"]));
    await rig.tellTheRest();
    expect(rig.toldTasks()).toEqual(names);
    expect((await rig.rows()).map((row) => [row.begun, row.payload])).toEqual(names.map((_, i) => [true, i]));
  });

  it("K39: (b) of three events at once one ends the wait, the others are told that it has ended", async () => {
    await rig.newRun(names.map((name) => waiting(name)));
    const answers = await all(async (name, i) => {
      const sent = [0, 1, 2].map(
        async (n) => await rig.end(n === 1 ? rig.byAddress(name) : rig.byName(name), `${name} ${n}`),
      );
      const begun = i % 2 === 0 ? [rig.begin(name)] : [];
      const got = await Promise.all(sent);
      await Promise.all(begun);
      return got;
    });
    const kept = (await rig.rows()).map((row) => row.payload);
    for (const [i, got] of answers.entries()) {
      expect(got.toSorted()).toEqual(["already_ended", "already_ended", "ended"]);
      // What the one that ended it brought, and nothing of the others.
      expect(kept[i]).toBe(`${names[i]} ${got.indexOf("ended")}`);
    }
    const audits = await rig.database.pool.query(
      "select who, detail from app.audit where run_id = $1 and action = 'end_wait'",
      [rig.runId],
    );
    expect(audits.rows).toHaveLength(N);
    expect(audits.rows[0]).toMatchObject({ who: "ann", detail: { mapIndex: -1, try: 1, wait: 1 } });
  });

  it("K39: (c) after the time-out all are too late, whether it was seen or not; a later try is untouched", async () => {
    await rig.newRun(names.map((name) => waiting(name, event({ timeoutMs: 1 }))));
    await all(async (name) => await rig.begin(name, { expires_in_ms: -1 }));
    const looking = lookAtWaits(rig.database.pool, 200);
    const answers = await all(
      async (name, i) => await rig.end(i % 2 === 0 ? rig.byName(name) : rig.byAddress(name), i),
    );
    expect(new Set(answers)).toEqual(new Set(["too_late"]));
    await looking;
    while (await lookAtWaits(rig.database.pool, 200));
    expect(new Set((await rig.rows()).map((row) => row.ended_as))).toEqual(new Set(["expired"]));
    await all(async (name) => await rig.begin(name, { try: 2 }));
    expect(new Set(await all(async (name) => await rig.end(rig.byAddress(name, 1))))).toEqual(
      new Set(["too_late"]),
    );
    const second = (await rig.rows()).filter((row) => row.try === 2);
    expect(second.map((row) => [row.begun, row.ended_as])).toEqual(names.map(() => [true, null]));
    expect(new Set(await all(async (name) => await rig.end(rig.byName(name), "now")))).toEqual(
      new Set(["ended"]),
    );
    expect((await rig.rows()).filter((row) => row.try === 2 && row.payload !== "now")).toEqual([]);
  });

  it.each([1, 2])("K39: whatever comes when (seed %d), every answer is what the row says", async (seed) => {
    await rig.newRun(names.map((name) => waiting(name)));
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
      for (let n = 0; n < 30; n++) await lookAtWaits(rig.database.pool, 20);
    })();
    const answers = await all(async (name, i) => {
      const { events, late, begins, beginsAt, rest } = plans[i]!;
      const works: Promise<string | null>[] = [];
      for (let n = 0; n <= events; n++) {
        if (n === Math.min(beginsAt, events) && begins)
          works.push(rig.begin(name, late ? { expires_in_ms: -1 } : {}).then(() => null));
        if (n < events) works.push(rig.end(n % 2 === 0 ? rig.byName(name) : rig.byAddress(name), n));
        if (rest % 3 === 0) await Promise.all(works);
      }
      return (await Promise.all(works)).filter((one) => one !== null);
    });
    await looking;
    while (await lookAtWaits(rig.database.pool, 100));
    await rig.tellTheRest();
    const found = new Map((await rig.rows()).map((row) => [row.task_id, row]));
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
      expect([names[i], rig.told.some(({ taskId }) => taskId === names[i])]).toEqual([names[i], isTold]);
    }
  });

  it("K39: a process that dies before it has told the run: any other one tells it", async () => {
    await rig.newRun(names.map((name) => waiting(name)));
    await all(async (name) => await rig.begin(name));
    let tried = 0;
    rig.onSignal = () => {
      tried += 1;
      throw new Error("killed");
    };
    expect(new Set(await all(async (name) => await rig.end(rig.byName(name))))).toEqual(new Set(["ended"]));
    await expect.poll(() => tried).toBeGreaterThan(0);
    expect(rig.told).toEqual([]);
    rig.onSignal = () => undefined;
    await rig.tellTheRest();
    expect(rig.toldTasks()).toEqual(names);
  });

  it("K39: a process that dies before its end is committed has ended nothing: the event that comes again does", async () => {
    await rig.newRun([waiting("approval")]);
    await rig.begin("approval");
    const dying = await rig.database.pool.connect();
    dying.on("error", () => undefined);
    await dying.query("begin");
    const asked = {
      run: rig.run,
      task_id: "approval",
      map_index: -1,
      try: 1,
      wait: 1,
      payload: "1",
      who: "x",
      detail: null,
    };
    expect((await endEvent(dying, asked)).answer).toBe("ended");
    const again = rig.end(rig.byName("approval"), 2);
    dying.release(new Error("killed"));
    expect(await again).toBe("ended");
    expect(await rig.rows()).toMatchObject([{ ended_as: "success", ended_by: "ann", payload: 2 }]);
  });
});
