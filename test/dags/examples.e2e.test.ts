import { createClient } from "meridian/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type * as exportFile from "../../dags/sales-export.ts";
import type * as priceFile from "../../dags/price-list.ts";
import type * as warehouseFile from "../../dags/warehouse-load.ts";
import { until } from "../support/product.ts";
import { startWholeProduct, type WholeProduct } from "../support/whole-product.ts";

let product: WholeProduct;
let client: ReturnType<typeof connect>;
const connect = (url: string) =>
  createClient<typeof exportFile & typeof priceFile & typeof warehouseFile>({ url });
beforeAll(async () => {
  product = await startWholeProduct();
  client = connect(product.url);
}, 180_000);
afterAll(async () => await product.stop());

const statesOf = async (dagId: string, runId: string): Promise<Record<string, string>> => {
  const { cells } = await client.runs.get(dagId, runId);
  return Object.fromEntries(cells.map(({ taskId, state }) => [taskId, state]));
};

describe("A1 B1: the examples on the whole product", { timeout: 180_000 }, () => {
  it("all files load, and the first runs of all schedules are green", async () => {
    const ended = await until(
      async () => {
        const dags = await client.dags.list().all();
        const due = dags.filter(({ schedule }) => schedule !== "only when triggered");
        const runs = await client.runs.list({ type: ["scheduled"] }).all();
        const open = runs.filter(({ state }) => state === "queued" || state === "running");
        const began = due.every(({ dagId }) => runs.some((run) => run.dagId === dagId));
        return dags.length === 14 && began && runs.length >= 40 && open.length === 0 ? { dags, runs } : null;
      },
      120_000,
      "the first run of each example",
    );
    expect(await client.files.importErrors()).toEqual([]);
    expect(ended.dags.flatMap(({ dagId, importError }) => (importError ? [dagId] : []))).toEqual([]);
    const isGreen = (run: { state: string }): boolean => run.state === "success";
    expect(ended.runs.filter((run) => !isGreen(run)).map(({ dagId, state }) => `${dagId} ${state}`)).toEqual(
      [],
    );
    expect([...new Set(ended.runs.map(({ dagId }) => dagId))].sort()).toEqual([
      "bikes_berlin",
      "bikes_seattle",
      "bikes_tokyo",
      "cash_closing",
      "exchange_rates",
      "hello",
      "price_list",
      "sales_daily",
      "seattle_weather",
      "weather_stations",
      "web_sessions",
    ]);
    expect(ended.runs.filter(({ dagId }) => dagId === "seattle_weather")).toHaveLength(31);
  });

  it("A5: exchange_rates: a source is busy twice, the other hangs once", async () => {
    const [run] = await client.runs.list({ dagId: "exchange_rates" }).all();
    const tries = async (taskId: string) =>
      (await client.tasks.tries({ dagId: "exchange_rates", runId: run!.runId, taskId })).tries.map(
        ({ state }) => state,
      );
    expect((await tries("bank")).sort()).toEqual(["failed", "failed", "success"]);
    expect((await tries("market")).sort()).toEqual(["success", "timed_out"]);
  });

  it("A7: weather_stations: one station is asked twice, one is skipped, all others are on the sheets", async () => {
    const [run] = await client.runs.list({ dagId: "weather_stations" }).all();
    const output = await client.tasks.output({
      dagId: "weather_stations",
      runId: run!.runId,
      taskId: "report",
      try: 1,
    });
    expect(output).toMatch(/^\d{4}-\d\d-\d\d: coldest in \w+; \d readings on [12] sheets$/);
  });

  it("A12: web_sessions: megabytes lie in the object store, and are to be had", async () => {
    const [run] = await client.runs.list({ dagId: "web_sessions" }).all();
    const of = { dagId: "web_sessions", runId: run!.runId, taskId: "clicks" };
    const [only] = (await client.tasks.tries(of)).tries;
    expect(only).toMatchObject({ output: null, stored: { bytes: expect.any(Number) } });
    expect(only!.stored!.bytes).toBeGreaterThan(2 * 1024 * 1024);
    expect(await client.tasks.output({ ...of, try: 1 })).toHaveLength(40_000);
  });

  it("A12: sales_export: params are typed by its file, and refused where they do not fit", async () => {
    await expect(
      client.trigger("sales_export", {
        from: "2026-05-01",
        // @ts-expect-error a region that the schema does not have
        region: "moon",
      }),
    ).rejects.toMatchObject({ code: "bad_params" });
    const { dagId, runId } = await client.trigger("sales_export", {
      from: "2026-05-01",
      days: 2,
      region: "asia",
    });
    expect((await client.runs.wait(dagId, runId)).state).toBe("success");
    const output = await client.tasks.output({ dagId, runId, taskId: "announce", try: 1 });
    expect(output).toBe("exports/asia/2026-05-01-2d.csv");
  });

  it("A6: price_list: nobody answered; with a word to the address in the log it is printed", async () => {
    const [first] = await client.runs.list({ dagId: "price_list" }).all();
    const before = { day_closed: "success", order_list: "success", list: "success", ask_owner: "success" };
    expect(await statesOf("price_list", first!.runId)).toEqual({
      ...before,
      approval: "skipped",
      prices: "skipped",
      print: "skipped",
      keep_old: "success",
    });

    const { dagId, runId } = await client.trigger("price_list", {});
    const of = { dagId, runId };
    const url = await until(async () => {
      const states = await statesOf(dagId, runId);
      if (states["approval"] !== "deferred") return null;
      const { text } = await client.tasks.log({ ...of, taskId: "ask_owner", try: 1 });
      return /http\S+/.exec(text)?.[0] ?? null;
    });
    const post = async (payload: unknown) =>
      await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(payload),
      });
    const refused = await post({ percent: 99 });
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining("by")]);
    expect((await post({ by: "me", percent: 10 })).status).toBe(200);
    expect((await post({ by: "you" })).status).toBe(409);
    expect((await client.runs.wait(dagId, runId)).state).toBe("success");
    expect(await statesOf(dagId, runId)).toEqual({
      ...before,
      approval: "success",
      prices: "success",
      print: "success",
      keep_old: "skipped",
    });
    expect(await client.tasks.output({ ...of, taskId: "approval", try: 1 })).toEqual({
      by: "me",
      percent: 10,
    });
    expect(await client.tasks.output({ ...of, taskId: "print", try: 1 })).toMatch(/^printed as job .*-4$/);
    expect((await client.tasks.tries({ ...of, taskId: "print" })).tries).toHaveLength(1);
  });

  it("B11: warehouse_load waits for its pool, then goes through it; a load that fails leaves the run red and nothing behind", async () => {
    const { dagId, runId } = await client.trigger("warehouse_load", {});
    await until(async () => {
      const { waiting } = await client.tasks.tries({ dagId, runId, taskId: "load.orders" });
      return waiting?.reason?.includes('pool "warehouse" does not exist') === true ? true : null;
    });
    await client.pools.set("warehouse", { slots: 3 });
    expect((await client.runs.wait(dagId, runId)).state).toBe("success");

    const broken = await client.trigger("warehouse_load", { broken: "events" });
    expect((await client.runs.wait(dagId, broken.runId)).state).toBe("failed");
    expect(await statesOf(dagId, broken.runId)).toEqual({
      make_staging: "success",
      "load.orders": "success",
      "load.customers": "success",
      "load.events": "failed",
      "load.products": "success",
      publish: "upstream_failed",
      clean_up: "success",
      announce: "upstream_failed",
    });
  });

  it("states_tour fails, as it is meant to", async () => {
    // Its file is not among those that type this client.
    const answer = await fetch(`${product.url}/api/v1/dags/states_tour/runs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    const { runId } = (await answer.json()) as { runId: string };
    expect((await client.runs.wait("states_tour", runId)).state).toBe("failed");
  });
});
