import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { runDag, runTask } from "../../authoring/testing.ts";
import { validate } from "../../processor/validate.ts";
import { bundledDag, bundledDags } from "./bundled.ts";

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

  test("sales_daily has its groups inside each other", async () => {
    const { graph } = await bundledDag("sales-daily.ts");
    expect(graph.groups.map(({ id, label }) => [id, label])).toEqual([
      ["regions", "By region"],
      ...["eu", "us", "asia"].flatMap((region) => [
        [`regions.${region}`, region.toUpperCase()],
        [`regions.${region}.checks`, "Checks"],
      ]),
    ]);
    expect(graph.tasks.find(({ id }) => id === "report")!.upstream).toHaveLength(3);
  });

  test("A12: sales_export refuses what its form would", async () => {
    const dag = await bundledDag("sales-export.ts");
    for (const conf of [{}, { from: "soon" }, { from: "2026-05-01", days: 32 }]) {
      await expect(runDag(dag, { conf }), JSON.stringify(conf)).rejects.toMatchObject({ code: "bad_params" });
    }
    const { tasks } = await runDag(dag, {
      conf: { from: "2026-05-31", days: 2, samples: true, note: "the auditors" },
    });
    const { path, text } = tasks["write"]!.output as { path: string; text: string };
    expect(path).toBe("exports/eu/2026-05-31-2d.csv");
    const [head, ...rows] = text.split("\n");
    expect(head).toBe("id,day,product,pieces,cents");
    expect(new Set(rows.map((row) => row.split(",")[1]))).toEqual(new Set(["2026-05-31", "2026-06-01"]));
    expect(tasks["select"]!.log.map((line) => line.text)).toContain("asked for because: the auditors");
  });

  test("A4 A5: exchange_rates gets through a busy and a hanging source", async () => {
    const waits: number[] = [];
    const run = await runDag(await bundledDag("exchange-rates.ts"), {
      logicalAt: "2026-05-08T08:00",
      sleep: async (ms) => void waits.push(ms),
    });
    expect(run.state).toBe("success");
    expect([run.tasks["bank"]?.tries, run.tasks["market"]?.tries]).toEqual([3, 2]);
    expect(waits.sort((a, b) => a - b)).toEqual([1_000, 1_000, 2_000]);
    expect(run.tasks["rates"]?.output).toMatchObject({ sources: 2 });
    expect(run.tasks["bank"]?.log.map(({ level }) => level)).toEqual(["error", "error"]);
  });

  test("A4: exchange_rates goes on with one source", async () => {
    const dag = await bundledDag("exchange-rates.ts");
    const rates = { usd: 1.1, jpy: 165 };
    const one = await runTask(dag, "rates", { inputs: { market: rates } });
    expect(one.output).toEqual({ ...rates, sources: 1 });
    expect(one.log.map(({ text }) => text)).toEqual(["without the bank"]);
  });

  test("B11: warehouse_load asks for more slots than its pool is to have", async () => {
    const { graph } = await bundledDag("warehouse-load.ts");
    expect(
      graph.tasks
        .filter(({ pool }) => pool === "warehouse")
        .map(({ id, poolSlots, priorityWeight }) => [id, poolSlots, priorityWeight]),
    ).toEqual([
      ["load.orders", 2, 10],
      ["load.customers", 1, 5],
      ["load.events", 2, 1],
      ["load.products", 1, 1],
    ]);
  });

  test.each([
    ["works", {}, "success", "success"],
    ["fails", { broken: "orders" }, "failed", "upstream_failed"],
  ])("A4: warehouse_load %s, and its staging folder goes", async (_title, conf, state, announce) => {
    const run = await runDag(await bundledDag("warehouse-load.ts"), { conf });
    expect(run.state).toBe(state);
    expect(run.tasks["announce"]?.state).toBe(announce);
    expect(run.tasks["clean_up"]?.state).toBe("success");
    const folder = run.tasks["make_staging"]!.output as string;
    expect(folder.startsWith(tmpdir())).toBe(true);
    expect(existsSync(folder)).toBe(false);
  });

  test("A3: bikes_*: a day has the hours that the city's clocks give it", async () => {
    const dags = await bundledDags("bike-counters.ts");
    expect(dags.map(({ id }) => id)).toEqual(["bikes_berlin", "bikes_seattle", "bikes_tokyo"]);
    const hoursOn = async (logicalAt: string) =>
      await Promise.all(
        dags.map(async (dag) => {
          const { tasks } = await runDag(dag, { logicalAt });
          return (tasks["busiest_hour"]!.output as { hours: number }).hours;
        }),
      );
    expect(await hoursOn("2026-03-29")).toEqual([23, 24, 24]);
    expect(await hoursOn("2026-03-08")).toEqual([24, 23, 24]);
    expect(await hoursOn("2026-10-25")).toEqual([25, 24, 24]);
    const byHand = await runDag(dags[0]!, { logicalAt: "2026-05-09T12:34" });
    expect(byHand.tasks["busiest_hour"]?.state).toBe("skipped");
  });

  test("A12: web_sessions hands megabytes on and computes in a process of its own", async () => {
    const dag = await bundledDag("web-sessions.ts");
    expect(dag.graph.tasks.find(({ id }) => id === "conversion")).toMatchObject({ isolation: "own" });
    const { state, tasks } = await runDag(dag, { logicalAt: "2026-05-09" });
    expect(state).toBe("success");
    expect(JSON.stringify(tasks["clicks"]!.output).length).toBeGreaterThan(2 * 1024 * 1024);
    const { low, rate, high } = tasks["conversion"]!.output as Record<string, number>;
    expect(low).toBeLessThan(rate!);
    expect(high).toBeGreaterThan(rate!);
    const [first] = tasks["clicks"]!.output as { at: string }[];
    expect(first!.at.slice(0, 10)).toBe("2026-05-09");
  });
});

describe("A7: weather_stations", () => {
  test("A7: a task for each station, asked again or skipped alone, reduced to sheets and a report", async () => {
    const { state, tasks } = await runDag(await bundledDag("weather-stations.ts"), {
      logicalAt: "2026-05-09",
    });
    expect(state).toBe("success");
    const stations = tasks["stations"]!.output as { name: string }[];
    const instances = stations.map((_, i) => tasks[`read[${i}]`]!);
    expect(instances.map((one) => `${one.state} ${one.tries}`)).toEqual(
      stations.map((_, i) => (i === 3 ? "skipped 1" : i === 1 ? "success 2" : "success 1")),
    );
    const read = instances.flatMap(({ output }) =>
      output === undefined ? [] : [output as { station: string; celsius: number }],
    );
    const least = Math.min(...read.map(({ celsius }) => celsius));
    const coldest = tasks["coldest"]!.output as { station: string; celsius: number };
    expect([coldest.celsius, read.find(({ station }) => station === coldest.station)]).toEqual([
      least,
      coldest,
    ]);
    expect(tasks["sheets.draw[1]"]!.output).toHaveLength(read.length - 5);
    expect(tasks["report"]!.output).toBe(
      `2026-05-09: coldest in ${coldest.station}; ${read.length} readings on 2 sheets`,
    );
  });
});

describe("A4: cash_closing", () => {
  const closing = async (conf: object, logicalAt = "2026-05-08T22:00") => {
    const run = await runDag(await bundledDag("cash-closing.ts"), { logicalAt, conf: { ...conf } });
    const green = Object.keys(run.tasks).filter((id) => run.tasks[id]!.state === "success");
    return { ...run, green };
  };

  test.each([
    ["nothing is missing", {}, ["announce"]],
    ["little is missing", { missing: 200 }, ["ask_staff"]],
    ["much is missing", { missing: 700 }, ["ask_staff", "call_owner"]],
  ])("A4: %s", async (_title, conf, told) => {
    const run = await closing(conf);
    expect(run.state).toBe("success");
    const before = ["is_open", "make_folder", "count_quick", "how", "balance", "drop_folder"];
    expect(run.green.toSorted()).toEqual([...before, ...told, "tell"].toSorted());
    expect(existsSync(run.tasks["make_folder"]!.output as string)).toBe(false);
  });

  test("A4: in full on a Monday", async () => {
    const run = await closing({}, "2026-05-11T22:00");
    expect(run.tasks["count_quick"]?.state).toBe("skipped");
    expect(run.green).toEqual(expect.arrayContaining(["count_full.north", "count_full.south", "announce"]));
  });

  test("A4: a broken count: the run is red, and the folder is gone", async () => {
    const run = await closing({ broken: true });
    expect([run.state, run.tasks["tell"]?.state, run.tasks["drop_folder"]?.state]).toEqual([
      "failed",
      "upstream_failed",
      "success",
    ]);
    expect(existsSync(run.tasks["make_folder"]!.output as string)).toBe(false);
  });

  test("A4: a holiday: nothing is prepared, so nothing is taken away", async () => {
    const run = await closing({}, "2026-05-01T22:00");
    expect([run.state, run.green]).toEqual(["success", ["is_open"]]);
  });
});

describe("A6: price_list", () => {
  /** Only waiting moves its clock. */
  const priced = async (events: object) => {
    let at = Date.UTC(2026, 4, 9, 16);
    return await runDag(await bundledDag("price-list.ts"), {
      logicalAt: "2026-05-08T18:00",
      now: () => at,
      sleep: async (ms) => void (at += ms),
      events: { ...events },
    });
  };

  test("A6: with the owner's word the supplier's prices are changed and printed", async () => {
    const { state, tasks } = await priced({ approval: { by: "me", percent: 10 } });
    expect(state).toBe("success");
    expect(tasks["day_closed"]!.log.map(({ text }) => text)).toEqual([
      "would wait until 2026-05-09T16:00:05Z; a local run goes on",
    ]);
    const list = tasks["list"]!.output as { good: string; cents: number }[];
    expect(tasks["list"]!.tries).toBe(1);
    expect(tasks["prices"]!.output).toEqual(
      list.map(({ good, cents }) => ({ good, cents: Math.round(cents * 1.1) })),
    );
    expect(tasks["print"]).toMatchObject({ output: "printed as job 2026-05-08-4", tries: 1 });
    expect(tasks["keep_old"]!.state).toBe("skipped");
    expect(tasks["ask_owner"]!.log[0]?.text).toMatch(/^4 prices are to be approved: http:.*approval$/);
  });

  test("A6: the schema refuses another word", async () => {
    await expect(priced({ approval: { percent: 99 } })).rejects.toMatchObject({ code: "bad_payload" });
  });

  test("A6: what waits for nobody's word does not stay open: it is skipped after a minute", async () => {
    const { graph } = await bundledDag("price-list.ts");
    const { wait } = graph.tasks.find(({ id }) => id === "approval")!;
    expect(wait).toMatchObject({ kind: "event", timeoutMs: 60_000, softFail: true });
    for (const { wait: one } of graph.tasks) {
      if (one !== undefined && one.kind !== "until") expect(one.timeoutMs).toBeLessThanOrEqual(600_000);
    }
  });
});

describe("F1: the examples as a set", () => {
  const root = fileURLToPath(new URL("../../", import.meta.url));
  const read = (path: string) => readFileSync(join(root, path), "utf8");
  const files = readdirSync(join(root, "dags")).filter((name) => name.endsWith(".ts"));
  const dags = async () => (await Promise.all(files.map(bundledDags))).flat();

  test("each file has a page of docs that shows its code, and the index names it", () => {
    const index = read("docs/examples/README.md");
    for (const name of files) {
      const page = `${name.slice(0, -3)}.md`;
      expect(read(`docs/examples/${page}`)).toContain(`<!-- from: dags/${name} -->`);
      expect(index).toContain(`(${page})`);
    }
  });

  test("none runs more often than each five minutes, and each but the shortest says what, whose and which", async () => {
    for (const { graph } of await dags()) {
      const { timetable } = graph;
      if (timetable.kind === "cron") expect(timetable.cron, graph.dagId).toMatch(/^(\d+|\*\/5) /);
      if (graph.dagId === "hello") continue;
      expect([graph.dagId, graph.description === "", graph.owner === ""]).toEqual([
        graph.dagId,
        false,
        false,
      ]);
      expect(graph.tags, graph.dagId).toContain("example");
    }
  });

  test("all pass `meridian validate`", { timeout: 120_000 }, async () => {
    const home = join(root, ".meridian", `test-examples-${process.pid}`);
    try {
      const reports = await validate(files, { folder: join(root, "dags"), home });
      expect(reports.map(({ path, error }) => [path, error])).toEqual(files.map((path) => [path, null]));
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });
});
