import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type { Dag } from "../../authoring/collect.ts";
import { runDag } from "../../authoring/testing.ts";
import { bundledDag } from "./bundled.ts";

const name = `weather_${randomUUID().replaceAll("-", "")}`;
const days = Array.from({ length: 31 }, (_, i) => `2015-12-${String(i + 1).padStart(2, "0")}`);
let admin: pg.Client;
let db: pg.Client;
let url: string;
let weather: Dag;

beforeAll(async () => {
  const server = inject("databaseUrl");
  admin = new pg.Client({ connectionString: server });
  await admin.connect();
  await admin.query(`create database ${name}`);
  const own = new URL(server);
  own.pathname = `/${name}`;
  url = own.href;
  db = new pg.Client({ connectionString: url });
  await db.connect();
  weather = await bundledDag("seattle-weather.ts");
});

afterAll(async () => {
  await db?.end();
  await admin?.query(`drop database if exists ${name} with (force)`);
  await admin?.end();
});

const runDay = (logicalAt: string) => runDag(weather, { logicalAt, connection: () => url });

async function rows() {
  const daily = await db.query(
    "select day::text, precipitation_mm, temp_max, temp_min, wind, weather from weather_day order by day",
  );
  const monthly = await db.query(
    "select month::text, days, wet_days, precipitation_mm, warmest, coldest from weather_month order by month",
  );
  return { daily: daily.rows as unknown[], monthly: monthly.rows as unknown[] };
}

/** Until so many of its sessions wait for a lock. */
async function untilWaiting(sessions: number): Promise<void> {
  for (;;) {
    const { rows: counts } = await admin.query<{ n: number }>(
      "select count(*)::int as n from pg_stat_activity where datname = $1 and wait_event_type = 'Lock'",
      [name],
    );
    if (counts[0]?.n === sessions) return;
    await pause(10);
  }
}

describe("A2: seattle_weather loads its interval and nothing else", () => {
  test(
    "31 days, many at once on an empty database; then reruns leave the same rows",
    { timeout: 60_000 },
    async () => {
      const first = await Promise.all(days.map(runDay));
      expect(first.map(({ state }) => state)).toEqual(days.map(() => "success"));
      const loaded = await rows();
      expect(loaded.daily).toHaveLength(31);
      expect(loaded.daily[8]).toEqual({
        day: "2015-12-09",
        precipitation_mm: 13.5,
        temp_max: 12.2,
        temp_min: 7.8,
        wind: 6.3,
        weather: "rain",
      });
      expect(loaded.monthly).toEqual([
        {
          month: "2015-12-01",
          days: 31,
          wet_days: 25,
          precipitation_mm: 284.5,
          warmest: 15.6,
          coldest: -2.1,
        },
      ]);
      await Promise.all([...days.slice(0, 8), "2015-12-09", "2015-12-09"].map(runDay));
      expect(await rows()).toEqual(loaded);
    },
  );

  test.each([
    [
      "on an empty database",
      "drop table weather_day, weather_month",
      "create table weather_day (wrong text)",
    ],
    ["of one month", "select 1", "select 1 from weather_month for update"],
  ])("two days side by side %s do not get in each other's way", async (_title, before, blocker) => {
    await db.query(before);
    await db.query(`begin; ${blocker}`);
    const two = ["2015-12-01", "2015-12-02"].map(runDay);
    await untilWaiting(2);
    await db.query("rollback");
    for (const { tasks } of await Promise.all(two)) {
      expect(Object.values(tasks).map(({ state, tries }) => `${state} ${tries}`)).toEqual(
        Array.from({ length: 4 }, () => "success 1"),
      );
    }
    await Promise.all(days.map(runDay));
    expect((await rows()).daily).toHaveLength(31);
  });

  test("what an interval holds is replaced: a row that does not belong there goes", async () => {
    const loaded = await rows();
    await db.query("update weather_day set weather = 'hail', wind = 99 where day = '2015-12-09'");
    const run = await runDay("2015-12-09");
    expect(run.tasks["load"]?.output).toEqual({ from: "2015-12-09", until: "2015-12-10", rows: 1 });
    expect(await rows()).toEqual(loaded);
  });

  test("a stopped load leaves all as it was", async () => {
    const loaded = await rows();
    const controller = new AbortController();
    await db.query("begin");
    await db.query("lock table weather_day");
    const run = runDag(weather, {
      logicalAt: "2015-12-09",
      connection: () => url,
      signal: controller.signal,
      onState: (id, state) => {
        if (id === "load" && state === "running") setTimeout(() => controller.abort(), 300);
      },
    });
    expect((await run).tasks["load"]?.state).toBe("cancelled");
    await db.query("rollback");
    expect(await rows()).toEqual(loaded);
  });
});
