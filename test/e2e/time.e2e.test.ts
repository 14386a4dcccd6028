import { describe, expect, it } from "vitest";
import { expectOneAtATime, instants, useCalendar } from "../schedules/support.ts";

describe("A3 B3: the calendar, as runs that are really created and run", () => {
  const calendar = useCalendar();
  const { define, tick, switchOn, intervals, settled, tries, trigger, post, shown } = calendar;

  it("K01: a daily time that spring forward skips: 24 h and 23 h, one run each, when its interval ends", async () => {
    const [id] = await define({
      k01: `schedule: "0 2 * * *", zone: "America/Chicago", startDate: "2024-03-09", catchup: true`,
    });
    expect(await switchOn("2024-03-09T12:00:00Z", id!)).toBe(0);
    expect(await tick("2024-03-10T07:59:59.999Z")).toBe(0);
    expect(await tick("2024-03-10T08:00:00Z")).toBe(1);
    expect(await tick("2024-03-10T08:00:00Z")).toBe(0);
    expect(await tick("2024-03-11T06:59:59.999Z")).toBe(0);
    expect(await tick("2024-03-11T07:00:00Z")).toBe(1);
    expect(await settled(id!)).toEqual([
      "2024-03-09T08:00Z/2024-03-10T08:00Z 2024-03-09",
      "2024-03-10T08:00Z/2024-03-11T07:00Z 2024-03-10",
    ]);
  });

  it("K02: both changes in one zone: no run is lost in spring, none is doubled in autumn", async () => {
    const [spring, autumn] = await define({
      k02_spring: `schedule: "0 2 * * *", zone: "Europe/Berlin", startDate: "2026-03-28", endDate: "2026-03-30", catchup: true`,
      k02_autumn: `schedule: "30 2 * * *", zone: "Europe/Berlin", startDate: "2026-10-24", endDate: "2026-10-26", catchup: true`,
    });
    await switchOn("2026-03-28T00:00:00Z", spring!, autumn!);
    for (const at of instants("2026-03-28T00:30:00Z", "2026-03-31T03:00:00Z", 30)) await tick(at);
    for (const at of instants("2026-10-24T00:00:00Z", "2026-10-27T03:00:00Z", 30)) await tick(at);
    // The endDate is midnight in Berlin, so the last logical date is that of the day before.
    expect(await settled(spring!)).toEqual([
      "2026-03-28T01:00Z/2026-03-29T01:00Z 2026-03-28",
      "2026-03-29T01:00Z/2026-03-30T00:00Z 2026-03-29",
    ]);
    expect(await settled(autumn!)).toEqual([
      "2026-10-24T00:30Z/2026-10-25T00:30Z 2026-10-24",
      "2026-10-25T00:30Z/2026-10-26T01:30Z 2026-10-25",
    ]);
  });

  it("K10: two day fields are OR: runs are really created for all 10 days", async () => {
    const [id] = await define({
      k10: `schedule: "0 10 1-7 * 1", startDate: "2026-01-01", endDate: "2026-01-31", catchup: true`,
    });
    await switchOn("2026-01-01T00:00:00Z", id!);
    let made = 0;
    for (const at of instants("2026-01-01T10:00:30Z", "2026-02-03T10:00:30Z", 24 * 60))
      made += await tick(at);
    expect(made).toBe(10);
    const days = (await settled(id!)).map((run) => Number(run.slice(-2)));
    expect(days).toEqual([1, 2, 3, 4, 5, 6, 7, 12, 19, 26]);
  });

  it("K14: the monthly interval in a zone; its start is taken, its end is October's", async () => {
    const [id] = await define({
      k14: `schedule: "@monthly", zone: "Europe/Berlin", startDate: "2024-09-01"`,
    });
    expect(await switchOn("2024-09-30T21:59:59Z", id!)).toBe(0);
    expect(await tick("2024-09-30T22:00:00Z")).toBe(1);
    const september = "2024-08-31T22:00Z/2024-09-30T22:00Z 2024-09-01";
    expect(await settled(id!)).toEqual([september]);

    const again = await post(id!, "2024-08-31T22:00:00Z");
    expect(again).toMatchObject({
      status: 409,
      body: { code: "run_exists", details: { runId: "2024-08-31T22-00-00Z" } },
    });
    const next = await post(id!, "2024-09-30T22:00:00Z");
    expect(next).toMatchObject({ status: 201, body: { runId: "2024-09-30T22-00-00Z" } });
    const october = "2024-09-30T22:00Z/2024-10-31T23:00Z 2024-10-01";
    expect(await settled(id!)).toEqual([september, october]);

    // Its own tick finds October done, and the calendar goes on.
    expect(await tick("2024-10-31T23:00:00Z")).toBe(0);
    expect(await tick("2024-11-30T23:00:00Z")).toBe(1);
    expect(await intervals(id!)).toHaveLength(3);
  });

  it("K15: a start date inside a period: the first interval begins at the next boundary, catchup off and on", async () => {
    const ids = await define({
      k15_off: `schedule: "@daily", startDate: "2026-03-10T09:00:00Z", catchup: false`,
      k15_on: `schedule: "@daily", startDate: "2026-03-10T09:00:00Z", catchup: true`,
    });
    expect(await switchOn("2026-03-10T12:00:00Z", ...ids)).toBe(0);
    expect(await tick("2026-03-11T00:00:00Z")).toBe(0);
    expect(await tick("2026-03-11T23:59:59Z")).toBe(0);
    expect(await tick("2026-03-12T00:00:00Z")).toBe(2);
    for (const id of ids)
      expect(await settled(id)).toEqual(["2026-03-11T00:00Z/2026-03-12T00:00Z 2026-03-11"]);
  });

  it("K16: catchup off creates one run, not two: cron and fixed period alike", async () => {
    const ids = await define({
      k16_cron: `schedule: "@daily", startDate: "2018-01-01"`,
      k16_period: `schedule: { every: "24h" }, startDate: "2018-01-01"`,
    });
    expect(await switchOn("2018-11-19T10:00:00Z", ...ids)).toBe(2);
    expect(await tick("2018-11-19T23:59:59Z")).toBe(0);
    for (const id of ids)
      expect(await settled(id)).toEqual(["2018-11-18T00:00Z/2018-11-19T00:00Z 2018-11-18"]);
    expect(await tick("2018-11-20T00:00:00Z")).toBe(2);
    for (const id of ids)
      expect((await settled(id))[1]).toBe("2018-11-19T00:00Z/2018-11-20T00:00Z 2018-11-19");
  });

  it("K17: paused over two ticks: one run at once when it is unpaused, the other interval is not created", async () => {
    const [id] = await define({ k17: `schedule: "@daily", startDate: "2026-01-30"` });
    expect(await switchOn("2026-01-30T12:00:00Z", id!)).toBe(0);
    expect(await tick("2026-01-31T00:00:00Z")).toBe(1);
    calendar.at("2026-01-31T15:00:00Z");
    await calendar.product.client.pause(id!, "test", "a move");
    expect(await shown(id!)).toMatchObject({ paused: true, pausedBy: "test", pauseReason: "a move" });
    expect(await tick("2026-02-01T00:00:00Z")).toBe(0);
    expect(await tick("2026-02-02T00:00:00Z")).toBe(0);
    calendar.at("2026-02-02T15:00:00Z");
    await calendar.product.client.unpause(id!, "test");
    const both = ["2026-01-30T00:00Z/2026-01-31T00:00Z", "2026-02-01T00:00Z/2026-02-02T00:00Z"];
    expect(await intervals(id!)).toEqual(both);
    expect(await shown(id!)).toMatchObject({ paused: false, nextDueAt: "2026-02-03T00:00:00.000Z" });
    expect(await tick("2026-02-03T00:00:00Z")).toBe(1);
    expect(await settled(id!)).toHaveLength(3);
  });

  it("K18: the end date is the last logical date: three runs, then no next run", async () => {
    const [id] = await define({
      k18: `schedule: "@hourly", startDate: "2015-01-01T00:00:00Z", endDate: "2015-01-01T02:00:00Z", catchup: true`,
    });
    await switchOn("2015-01-01T00:00:00Z", id!);
    expect(await tick("2015-01-01T02:59:59Z")).toBe(2);
    expect(await tick("2015-01-01T03:00:00Z")).toBe(1);
    for (const at of instants("2015-01-01T04:00:00Z", "2015-01-01T09:00:00Z", 60))
      expect(await tick(at)).toBe(0);
    expect(await settled(id!)).toEqual([
      "2015-01-01T00:00Z/2015-01-01T01:00Z 2015-01-01",
      "2015-01-01T01:00Z/2015-01-01T02:00Z 2015-01-01",
      "2015-01-01T02:00Z/2015-01-01T03:00Z 2015-01-01",
    ]);
    expect(await shown(id!)).toMatchObject({ nextDueAt: null });
  });

  it("K19: a coarser schedule in mid-life: no second run of one date, the uncovered rest is reported", async () => {
    const options = (schedule: string) => ({
      k19: `schedule: "${schedule}", startDate: "2026-05-04", catchup: true`,
    });
    const [id] = await define(options("0 * * * *"));
    expect(await switchOn("2026-05-04T01:00:10Z", id!)).toBe(1);
    await define(options("0 0 * * *"));
    expect(await switchOn("2026-05-04T01:30:00Z", id!)).toBe(0);
    expect(await tick("2026-05-05T00:00:00Z")).toBe(0);
    expect(await tick("2026-05-05T23:59:59Z")).toBe(0);
    expect(await tick("2026-05-06T00:00:00Z")).toBe(1);
    expect(await settled(id!)).toEqual([
      "2026-05-04T00:00Z/2026-05-04T01:00Z 2026-05-04",
      "2026-05-05T00:00Z/2026-05-06T00:00Z 2026-05-05",
    ]);
    const uncovered = { startAt: "2026-05-04T01:00:00Z", endAt: "2026-05-05T00:00:00Z" };
    const { rows } = await calendar.product.pool.query("select uncovered from app.dag where dag_id = $1", [
      id,
    ]);
    expect(rows).toEqual([{ uncovered }]);
    expect(await shown(id!)).toMatchObject({ uncovered });
  });

  it("K20: a manual run for an interval that was missed is as the scheduled one; one that exists is named", async () => {
    const [id, twin] = await define({
      k20: `schedule: "20 */3 * * *", startDate: "2024-07-01"`,
      k20_twin: `schedule: "20 */3 * * *", startDate: "2024-07-24T06:20:00Z", catchup: true`,
    });
    expect(await switchOn("2024-07-24T12:20:30Z", id!)).toBe(1);
    expect(await switchOn("2024-07-24T12:20:30Z", twin!)).toBe(2);
    await trigger(id!, "2024-07-24T06:20:00Z");
    expect(await post(id!, "2024-07-24T09:20:00Z")).toMatchObject({
      status: 409,
      body: { code: "run_exists", detail: expect.stringContaining("2024-07-24T09-20-00Z") },
    });
    const runs = await settled(id!);
    expect(runs).toEqual([
      "2024-07-24T06:20Z/2024-07-24T09:20Z 2024-07-24",
      "2024-07-24T09:20Z/2024-07-24T12:20Z 2024-07-24",
    ]);
    expect(await settled(twin!), "the schedule's own").toEqual(runs);
  });

  it("K21: uneven minutes: each run is created when its own interval ends", async () => {
    const [id] = await define({
      k21: `schedule: "2,3,5,8 * * * *", startDate: "2026-05-04T10:02:00Z", catchup: true`,
    });
    await switchOn("2026-05-04T10:02:00Z", id!);
    const created: string[] = [];
    for (const at of instants("2026-05-04T10:02:00Z", "2026-05-04T11:02:00Z", 1)) {
      if ((await tick(at)) > 0) created.push(at.slice(11, 16));
    }
    expect(created).toEqual(["10:03", "10:05", "10:08", "11:02"]);
    expect((await settled(id!)).map((run) => run.replaceAll(/2026-05-04T|Z/g, "").slice(0, 11))).toEqual([
      "10:02/10:03",
      "10:03/10:05",
      "10:05/10:08",
      "10:08/11:02",
    ]);
  });

  it("K23: back after an outage, catchup off and on: the latest only, or all, oldest first and one at a time", async () => {
    const body = `async ({ ds, dataInterval }) => {
      await new Promise((done) => setTimeout(done, 100));
      return { ds, from: dataInterval.start.toISOString(), to: dataInterval.end.toISOString() };
    }`;
    const [off, on] = await define(
      {
        k23_off: `schedule: "20 * * * *", startDate: "2026-05-04T00:20:00Z", maxActiveRuns: 1`,
        k23_on: `schedule: "20 * * * *", startDate: "2026-05-04T00:20:00Z", maxActiveRuns: 1, catchup: true`,
      },
      body,
    );
    expect(await switchOn("2026-05-04T00:25:00Z", off!, on!)).toBe(0);
    // Everything is back at 05:40, and several processes look at once.
    calendar.at("2026-05-04T05:40:00Z");
    const made = await Promise.all([1, 2, 3, 4].map(async () => await calendar.product.createDue()));
    expect(made.reduce((a, b) => a + b, 0)).toBe(6);
    expect(await settled(off!)).toEqual(["2026-05-04T04:20Z/2026-05-04T05:20Z 2026-05-04"]);
    const hours = [0, 1, 2, 3, 4].map(
      (hour) => `2026-05-04T0${hour}:20Z/2026-05-04T0${hour + 1}:20Z 2026-05-04`,
    );
    expect(await settled(on!)).toEqual(hours);
    expectOneAtATime(await tries(on!));
    expect(await tick("2026-05-04T06:20:00Z")).toBe(2);
    expect(await settled(on!)).toHaveLength(6);
  });
});
