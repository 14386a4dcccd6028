import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { between, parseSchedule } from "../../core/calendar/timetable.ts";
import { runIdOf } from "../../core/ids.ts";
import { transaction } from "../../db/connection.ts";
import { createRuns } from "../../db/runs.ts";
import { clockScheduleId, ensureClockSchedules } from "../../schedules/clock-schedules.ts";
import { expectOneAtATime, instants, useCalendar } from "../schedules/support.ts";
import { startProduct, until } from "../support/product.ts";

const FULL = process.env["MERIDIAN_TEST_FULL"] === "1";

describe("A3 B3: ticks of any kind", { timeout: FULL ? 900_000 : 120_000 }, () => {
  const calendar = useCalendar();
  const { define, tick, switchOn, intervals, settled, tries, post } = calendar;

  it("K76: 10 ticks faster than the runs, one at a time, then an outage: every interval in order, none dropped", async () => {
    const [id] = await define(
      { k76: `schedule: "@hourly", startDate: "2026-06-01", maxActiveRuns: 1, catchup: true` },
      `async ({ ds, dataInterval }) => {
        await new Promise((done) => setTimeout(done, 300));
        return { ds, from: dataInterval.start.toISOString(), to: dataInterval.end.toISOString() };
      }`,
    );
    await switchOn("2026-06-01T00:00:00Z", id!);
    for (const at of instants("2026-06-01T01:00:00Z", "2026-06-01T10:00:00Z", 60)) {
      expect(await tick(at)).toBe(1);
      await sleep(100);
    }
    // Away for three days, far longer than the Schedule's catch-up window.
    expect(await tick("2026-06-02T02:00:00Z")).toBe(16);
    const runs = await settled(id!, 120_000);
    expect(runs.map((run) => run.slice(0, 17))).toEqual(
      instants("2026-06-01T00:00:00Z", "2026-06-02T01:00:00Z", 60).map((at) => `${at.slice(0, 16)}Z`),
    );
    expectOneAtATime(await tries(id!));
  });

  it(`K75: a new version 10 s before, at and 10 s after the hour: ${FULL ? 50 : 10} DAGs, one run each`, async () => {
    const names = Array.from({ length: FULL ? 50 : 10 }, (_, i) => `k75_${i}`);
    const version = async (n: number): Promise<string[]> =>
      await define(
        Object.fromEntries(
          names.map((name) => [name, `schedule: "@hourly", startDate: "2026-05-04", description: "v${n}"`]),
        ),
      );
    const ids = await version(1);
    expect(await switchOn("2026-05-04T00:30:00Z", ...ids)).toBe(0);
    const hour = Date.parse("2026-05-04T01:00:00Z");
    let made = 0;
    for (const [n, offsetMs] of [-10_000, 0, 10_000].entries()) {
      calendar.product.at = hour + offsetMs;
      const ticks = [0, 1, 2, 3].map(async (i) => {
        await sleep(i * 40);
        return await calendar.product.createDue();
      });
      const [, ...some] = await Promise.all([version(n + 2), ...ticks]);
      made += some.reduce((a, b) => a + b, 0);
      made += await calendar.product.createDue(ids);
    }
    for (const jitterMs of [20_000, 41_500, 60_000]) {
      calendar.product.at = hour + jitterMs;
      made += await calendar.product.createDue();
    }
    expect(made).toBe(ids.length);
    for (const id of ids)
      expect(await settled(id)).toEqual(["2026-05-04T00:00Z/2026-05-04T01:00Z 2026-05-04"]);

    const state = async () =>
      (
        await calendar.product.pool.query(
          `select d.dag_id, d.xmin::text as dag, f.xmin::text as file, (select count(*) from app.dag_version v where v.dag_id = d.dag_id) as versions
           from app.dag d join app.dag_file f on f.path = d.file where d.dag_id = any ($1) order by 1`,
          [ids],
        )
      ).rows;
    const before = await state();
    expect(before).toHaveLength(ids.length);
    await version(4);
    await calendar.product.processor.pass();
    expect(await state(), "a parse without change writes nothing").toEqual(before);
  });

  it("K79: uniqueness outlives Temporal's retention: a deleted workflow's date stays taken", async () => {
    const [id] = await define({ k79: `schedule: "@daily", startDate: "2026-05-01"` });
    expect(await switchOn("2026-05-09T00:00:00Z", id!)).toBe(1);
    await settled(id!);
    const { temporal, config, pool } = calendar.product;
    const workflowId = `run.${id}.2026-05-08T00-00-00Z`;
    const status = async (): Promise<string> =>
      await temporal.workflow
        .getHandle(workflowId)
        .describe()
        .then(
          (one) => one.status.name,
          (error: Error) => error.constructor.name,
        );
    await until(async () => ((await status()) === "COMPLETED" ? true : null));
    // A server that still writes the close down puts a deletion off for many seconds, so it is asked again.
    await until(async () => {
      if ((await status()) === "WorkflowNotFoundError") return true;
      const workflowExecution = { workflowId };
      await temporal.workflowService
        .deleteWorkflowExecution({ namespace: config.temporalNamespace, workflowExecution })
        .catch(() => undefined);
      await sleep(500);
      return null;
    }, 50_000);
    expect(await post(id!, "2026-05-08T00:00:00Z")).toMatchObject({
      status: 409,
      body: { code: "run_exists", details: { runId: "2026-05-08T00-00-00Z" } },
    });
    // Nor does a tick make it again, though its cursor were lost.
    await pool.query("update app.dag set cursor_at = null, next_due_at = '2026-05-09' where dag_id = $1", [
      id,
    ]);
    expect(await tick("2026-05-09T00:01:00Z")).toBe(0);
    expect(await intervals(id!)).toEqual(["2026-05-08T00:00Z/2026-05-09T00:00Z"]);
    expect(await status()).toBe("WorkflowNotFoundError");
  });

  it("A3 B3: ticks early, late, twice and four at a time lose and double nothing", async () => {
    const schedules: Record<string, string> = {
      mess_quarter: "*/15 * * * *",
      mess_uneven: "2,3,5,8 * * * *",
      mess_hourly: "@hourly",
      mess_twenty: "20 */2 * * *",
    };
    const ids = await define(
      Object.fromEntries(
        Object.entries(schedules).map(([name, schedule]) => [
          name,
          `schedule: "${schedule}", zone: "Europe/London", startDate: "2025-10-25T22:00:00Z", catchup: true`,
        ]),
      ),
    );
    await switchOn("2025-10-25T22:00:00Z", ...ids);
    const end = "2025-10-26T03:30:00Z";
    let made = 0;
    // Minutes of the ticks: some twice, some far apart, one that goes back in time (another machine's clock).
    for (const minutes of [1, 3, 3, 4, 16, 61, 60, 59, 63, 150, 149, 210, 211, 330]) {
      calendar.product.at = Date.parse("2025-10-25T22:00:00Z") + minutes * 60_000;
      const some = await Promise.all([1, 2, 3, 4].map(async () => await calendar.product.createDue()));
      made += some.reduce((a, b) => a + b, 0);
    }
    let all = 0;
    for (const [i, [name, schedule]] of Object.entries(schedules).entries()) {
      const bounds = [
        ...between(
          parseSchedule(schedule, "Europe/London"),
          Date.parse("2025-10-25T22:00:00Z"),
          Date.parse(end) + 1,
        ),
      ];
      const runs = await calendar.product.runs(ids[i]!);
      expect(
        runs.map((run) => run.start_at.getTime()),
        name,
      ).toEqual(bounds.slice(0, -1));
      expect(
        runs.map((run) => run.end_at.getTime()),
        name,
      ).toEqual(bounds.slice(1));
      await settled(ids[i]!);
      all += runs.length;
    }
    expect(made).toBe(all);
  });

  it("B3: killed between insert and start: the outbox starts the run within some 10 s", async () => {
    const [id] = await define({ outbox: `schedule: null` });
    const { rows } = await calendar.product.pool.query("select version from app.dag where dag_id = $1", [id]);
    const dates = ["2026-05-01T00:00:00.000Z", "2026-05-02T00:00:00.000Z", "2026-05-03T00:00:00.000Z"];
    const createdAt = Date.now();
    await transaction(calendar.product.pool, async (db) => {
      const made = await createRuns(
        db,
        dates.map((date) => ({
          dag_id: id!,
          run_id: runIdOf(Date.parse(date)),
          run_type: "scheduled" as const,
          logical_at: date,
          start_at: date,
          end_at: date,
          version: rows[0].version,
          who: "test",
          first: null,
        })),
      );
      expect(made.every((run) => run.created && run.granted)).toBe(true);
    });
    expect(await settled(id!)).toHaveLength(3);
    const started = (await tries(id!)).map((one) => one.started_at.getTime());
    const afterMs = Math.max(...started) - createdAt;
    console.log(`outbox: the last of 3 orphaned runs started after ${afterMs} ms`);
    expect(afterMs).toBeLessThan(20_000);
  });
});

describe("B3 B6: restarts", () => {
  const calendar = useCalendar({ worker: false });

  it("K22: restarted just after a tick: one run that day", async () => {
    const [id] = await calendar.define({
      k22: `schedule: "35 5 * * *", zone: "Etc/GMT-1", startDate: "2026-05-01"`,
    });
    const process = async (instant: string): Promise<number> => {
      const one = await startProduct({ beside: calendar.product });
      try {
        one.at = Date.parse(instant);
        const made = await one.createDue();
        await calendar.settled(id!);
        return made;
      } finally {
        await one.stop();
      }
    };
    await calendar.switchOn("2026-05-04T04:00:00Z", id!);
    const day = (await calendar.intervals(id!)).length;
    expect(await calendar.tick("2026-05-04T04:34:59Z")).toBe(0);
    expect(await calendar.tick("2026-05-04T04:35:00Z")).toBe(1);
    expect(await process("2026-05-04T04:39:00Z")).toBe(0);
    expect(await process("2026-05-04T05:39:00Z")).toBe(0);
    expect((await calendar.intervals(id!)).slice(day)).toEqual(["2026-05-03T04:35Z/2026-05-04T04:35Z"]);
  });
});

describe("A3 B3: the clock Schedule", () => {
  const calendar = useCalendar();
  const ensure = async (shards: number): Promise<void> =>
    await ensureClockSchedules(calendar.product.temporal, calendar.product.config.taskQueue, shards);
  const scheduleOf = (shard: number) =>
    calendar.product.temporal.schedule.getHandle(clockScheduleId(calendar.product.config.taskQueue, shard));

  /** A tick while the last one is still known to run is skipped, as the policy says; so wait for its end. */
  const tick = async (shard: number): Promise<void> => {
    await until(
      async () => ((await scheduleOf(shard).describe()).info.runningActions.length === 0 ? true : null),
      30_000,
      "the end of the last tick",
    );
    await scheduleOf(shard).trigger();
  };
  const there = async (): Promise<number[]> => {
    const found: number[] = [];
    for (let shard = 0; shard < 6; shard++) {
      if (
        await scheduleOf(shard)
          .describe()
          .then(
            () => true,
            () => false,
          )
      )
        found.push(shard);
    }
    return found;
  };
  afterAll(async () => await ensure(0));

  it("a DAG due each minute gets its run from the Schedule's tick alone, within seconds of the minute", async () => {
    await ensure(1);
    const [id] = await calendar.define({ each_minute: `schedule: "* * * * *", startDate: "2026-01-01"` });
    const run = await until(async () => (await calendar.product.runs(id!))[0], 80_000, "a run");
    const { rows } = await calendar.product.pool.query<{ queued_at: Date }>(
      "select queued_at from app.dag_run where dag_id = $1",
      [id],
    );
    const lateMs = rows[0]!.queued_at.getTime() - run.end_at.getTime();
    console.log(`clock Schedule: the run of a minute was made ${lateMs} ms after the minute`);
    expect(run.end_at.getTime() - run.start_at.getTime()).toBe(60_000);
    expect(lateMs).toBeGreaterThanOrEqual(0);
    expect(lateMs).toBeLessThan(20_000);
    expect(await calendar.settled(id!)).not.toEqual([]);
  }, 120_000);

  it("ensured again, by several at once, it stays one and as it was", async () => {
    await ensure(1);
    const before = await scheduleOf(0).describe();
    await Promise.all([ensure(1), ensure(1), ensure(1), ensure(1)]);
    const after = await scheduleOf(0).describe();
    expect(after.spec).toEqual(before.spec);
    expect(after.action).toEqual(before.action);
    expect(after.info.createdAt).toEqual(before.info.createdAt);
    expect(await there()).toEqual([0]);
  });

  it("one that was paused stays paused, with its note", async () => {
    await ensure(1);
    await scheduleOf(0).pause("creation stops for the move");
    await ensure(1);
    const { state } = await scheduleOf(0).describe();
    expect(state).toMatchObject({ paused: true, note: "creation stops for the move" });
    await scheduleOf(0).unpause();
  });

  it("each of three shards creates its own DAGs; fewer shards delete the surplus and take over", async () => {
    await ensure(3);
    expect(await there()).toEqual([0, 1, 2]);
    const names = Array.from({ length: 9 }, (_, i) => `shards_${i}`);
    calendar.at("2026-05-05T00:00:00Z");
    const ids = await calendar.define(
      Object.fromEntries(
        names.map((name) => [name, `schedule: "@daily", startDate: "2026-05-04", catchup: true`]),
      ),
    );
    // Switched on before their first interval ends; then only the Schedules tick.
    await calendar.switchOn("2026-05-04T12:00:00Z", ...ids);
    calendar.at("2026-05-05T00:00:10Z");
    for (const shard of [0, 1, 2]) await tick(shard);
    const all = async (days: number) => {
      const counts = await Promise.all(ids.map(async (id) => (await calendar.product.runs(id)).length));
      return counts.every((count) => count === days) ? true : null;
    };
    await until(async () => await all(1), 30_000, "a run for each DAG");

    await ensure(1);
    expect(await there()).toEqual([0]);
    calendar.at("2026-05-06T00:00:10Z");
    await tick(0);
    await until(async () => await all(2), 30_000, "the second run of each DAG");
    for (const id of ids) expect(await calendar.settled(id)).toHaveLength(2);
    calendar.product.at = null;
  });

  it("killed-while-deleting: who stops in the middle leaves nothing that the next one misses", async () => {
    await ensure(5);
    const { temporal, config } = calendar.product;
    let deletions = 0;
    const dying = Object.create(temporal, {
      schedule: {
        value: Object.create(temporal.schedule, {
          getHandle: {
            value: (id: string) => {
              const handle = temporal.schedule.getHandle(id);
              const mayDie = async (): Promise<void> => {
                if (++deletions === 3) throw new Error("killed");
                await handle.delete();
              };
              return { ...handle, delete: mayDie };
            },
          },
        }),
      },
    }) as typeof temporal;
    await expect(ensureClockSchedules(dying, config.taskQueue, 1)).rejects.toThrow("killed");
    expect(await there()).toHaveLength(3);
    await ensure(1);
    expect(await there()).toEqual([0]);
  });
});
