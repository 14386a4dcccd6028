import { describe, expect, test } from "vitest";
import { connectionsFrom, connectionVariable } from "../../authoring/connection.ts";
import { makeContext } from "../../authoring/context.ts";
import type { BodyContext } from "../../core/body.ts";

const DATA: BodyContext = {
  dagId: "sales",
  runId: "2026-05-09T00-00-00Z",
  run: 7,
  runType: "scheduled",
  taskId: "load",
  mapIndex: -1,
  try: 2,
  maxTries: 3,
  logicalDate: "2026-05-08T22:00:00Z",
  dataInterval: { start: "2026-05-08T22:00:00Z", end: "2026-05-09T22:00:00Z" },
  ds: "2026-05-09",
  zone: "Europe/Berlin",
  conf: { full: true },
};

function contextWith(lines: string[] = []) {
  const signal = new AbortController().signal;
  const connection = (name: string) => `${name}-url`;
  return makeContext(
    DATA,
    { rows: [1] },
    { log: (level, text) => lines.push(`${level} ${text}`), signal, connection },
  );
}

describe("A2: a body is told its interval by the run", () => {
  test("dates come from the data, not from the clock", () => {
    const context = contextWith();
    expect(context).toMatchObject({
      dagId: "sales",
      runId: "2026-05-09T00-00-00Z",
      taskId: "load",
      runType: "scheduled",
      try: 2,
      tryNumber: 2,
      maxTries: 3,
      ds: "2026-05-09",
      dsNodash: "20260509",
      zone: "Europe/Berlin",
      conf: { full: true },
      inputs: { rows: [1] },
      logicalDate: new Date("2026-05-08T22:00:00Z"),
      dataInterval: { start: new Date("2026-05-08T22:00:00Z"), end: new Date("2026-05-09T22:00:00Z") },
    });
    expect(context.connection("weather")).toBe("weather-url");
    expect(context.signal.aborted).toBe(false);
  });

  test("the log takes anything and never fails", () => {
    const lines: string[] = [];
    const { log } = contextWith(lines);
    const loop: Record<string, unknown> = {};
    loop["self"] = loop;
    log.debug("rows:", 3, { a: [1n] }, null, undefined);
    log.info();
    log.warn("a\0b", Symbol("s"));
    log.error(loop);
    const { error } = log;
    error(new TypeError("inner"));
    expect(lines.slice(0, 4)).toEqual([
      'debug rows: 3 {"a":["1n"]} null undefined',
      "info ",
      "warn a\ufffdb Symbol(s)",
      "error [object Object]",
    ]);
    expect(lines[4]).toMatch(/^error TypeError: inner\n +at /);
  });
});

describe("connections", () => {
  test("are read when asked for", () => {
    const env: Record<string, string | undefined> = {};
    const connection = connectionsFrom(env);
    expect(connectionVariable("data-lake.eu")).toBe("MERIDIAN_CONN_DATA_LAKE_EU");
    expect(() => connection("weather")).toThrow(
      'connection "weather" is not set where this task runs; set the environment variable MERIDIAN_CONN_WEATHER',
    );
    env["MERIDIAN_CONN_WEATHER"] = "postgres://x";
    expect(connection("weather")).toBe("postgres://x");
  });
});
