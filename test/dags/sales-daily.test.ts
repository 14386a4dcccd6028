/** How an author tests a DAG: a whole run, one task with chosen inputs, the order of its tasks. Copy it beside your own. */
import { renderTask, runDag, runTask } from "meridian/testing";
import { describe, expect, test } from "vitest";
import { salesDaily } from "../../dags/sales-daily.ts";
import { salesExport } from "../../dags/sales-export.ts";

describe("A1 F1: sales_daily, tested as an author does", () => {
  test("a day's run succeeds, and the regions add up to the report", async () => {
    const run = await runDag(salesDaily, { logicalAt: "2026-05-09" });
    expect(run.state).toBe("success");
    const orders = run.tasks["orders"]?.output as { cents: number }[];
    const sum = orders.reduce((all, { cents }) => all + cents, 0);
    expect(run.tasks["report"]?.output).toMatchObject({ day: "2026-05-09", cents: sum });
  });

  test("run again, it says the same", async () => {
    const [one, two] = await Promise.all([1, 2].map(() => runDag(salesDaily, { logicalAt: "2026-05-09" })));
    expect(two!.tasks["report"]?.output).toEqual(one!.tasks["report"]?.output);
  });

  test("an order that occurs twice fails its region for good", async () => {
    const order = { id: "7", day: "2026-05-09", region: "eu", product: "tea", pieces: 1, cents: 450 };
    const ids = await runTask(salesDaily, "regions.eu.checks.ids", { inputs: { mine: [order, order] } });
    expect(ids).toMatchObject({ state: "failed", error: { retryable: false } });
    expect(ids.error?.message).toContain("occurs twice");
  });

  test("free samples are a warning in the log", async () => {
    const sample = { id: "8", day: "2026-05-09", region: "eu", product: "tea", pieces: 1, cents: 0 };
    const prices = await runTask(salesDaily, "regions.eu.checks.prices", { inputs: { mine: [sample] } });
    expect(prices.output).toBe(1);
    expect(prices.log.map(({ level, text }) => `${level}: ${text}`)).toContain(
      "warn: 1 of 1 orders are free samples",
    );
  });
});

describe("A2 A12: sales_export, tested as an author does", () => {
  test("the file is named by its params", async () => {
    const conf = { from: "2026-05-01", days: 3, region: "us", format: "json" };
    expect(await renderTask(salesExport, "write", { conf, logicalAt: "2026-05-09" })).toEqual({
      path: "exports/us/2026-05-01-3d.json",
      title: "sales_export, triggered for 2026-05-09T00:00:00+00:00",
    });
  });

  test("only what was asked for is exported", async () => {
    const conf = { from: "2026-05-01", days: 1, products: ["tea"], minimum: 20 };
    const { state, tasks } = await runDag(salesExport, { conf });
    expect(state).toBe("success");
    const rows = tasks["select"]?.output as { product: string; cents: number }[];
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.filter(({ product, cents }) => product !== "tea" || cents < 2_000)).toEqual([]);
  });

  test("where nothing fits, the run is skipped", async () => {
    const { state, tasks } = await runDag(salesExport, { conf: { from: "2026-05-01", minimum: 100_000 } });
    expect(state).toBe("success");
    expect(tasks["write"]?.state).toBe("skipped");
  });
});
