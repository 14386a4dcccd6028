import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { runDag } from "../../authoring/testing.ts";
import { bundledDag } from "./bundled.ts";

describe("A1: the example DAGs, from bundles with a library of their own", () => {
  test("hello", async () => {
    const hello = await bundledDag("hello.ts");
    expect(hello.graph).toMatchObject({ dagId: "hello", timetable: { kind: "cron", cron: "*/5 * * * *" } });
    const run = await runDag(hello, { logicalAt: "2026-05-09" });
    expect(run.state).toBe("success");
    expect(run.tasks["report"]?.output).toBe("2026-05-09: the total is 6");
  });

  test("hello has at most 15 lines of code", () => {
    const text = readFileSync(new URL("../../dags/hello.ts", import.meta.url), "utf8");
    expect(text.split("\n").filter((line) => line.trim() !== "").length).toBeLessThanOrEqual(15);
  });

  test("states_tour ends its tasks in every state it promises", async () => {
    const run = await runDag(await bundledDag("states-tour.ts"), { sleep: async () => {} });
    expect(run.state).toBe("failed");
    expect(
      Object.fromEntries(
        Object.entries(run.tasks).map(([id, { state, tries }]) => [id, `${state} ${tries}`]),
      ),
    ).toEqual({
      ok: "success 1",
      flaky: "success 3",
      skipped: "skipped 1",
      skipped_too: "skipped 0",
      failed: "failed 1",
      upstream_failed: "upstream_failed 0",
      slow: "failed 1",
      clean_up: "success 1",
      alarm: "success 1",
      any: "success 1",
    });
  });

  test("seattle_weather: 31 days, caught up four at a time", async () => {
    const { graph } = await bundledDag("seattle-weather.ts");
    expect(graph).toMatchObject({
      dagId: "seattle_weather",
      timetable: { kind: "cron", cron: "0 0 * * *", zone: "UTC" },
      startDate: "2015-12-01T00:00:00Z",
      endDate: "2015-12-31T00:00:00Z",
      catchup: true,
      maxActiveRuns: 4,
    });
    expect(graph.tasks.map(({ id, upstream }) => [id, upstream])).toEqual([
      ["extract", []],
      ["validate", [0]],
      ["load", [1]],
      ["summarise", [2]],
    ]);
  });

  test("seattle_weather skips an interval without observations, and needs its connection", async () => {
    const weather = await bundledDag("seattle-weather.ts");
    const empty = await runDag(weather, { logicalAt: "2026-05-09" });
    expect(empty.state).toBe("success");
    expect(empty.tasks["extract"]).toMatchObject({
      state: "skipped",
      message: "no observation from 2026-05-09 up to 2026-05-10",
    });
    const without = await runDag(weather, { logicalAt: "2015-12-09" });
    expect(without.tasks["load"]?.error?.code).toBe("connection_missing");
    const down = await runDag(weather, {
      logicalAt: "2015-12-09",
      connection: () => "postgres://u@127.0.0.1:1/x",
      sleep: async () => {},
    });
    expect(down.tasks["load"]).toMatchObject({
      state: "failed",
      tries: 3,
      error: { message: expect.stringContaining("ECONNREFUSED") },
    });
  });
});
