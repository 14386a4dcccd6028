/** A product whose calendar a test turns by hand; its runs are real ones. */
import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { appOf } from "../support/app.ts";
import type { TriggeredRun } from "../../client/types.ts";
import { startProduct, type Product, type ProductOptions, type TryView } from "../support/product.ts";

/** Workflow ids are global in a Temporal server, which may be a given one that saw this test before. */
const TAG = randomUUID().slice(0, 6);
const idOf = (name: string): string => `${name}_${TAG}`;

export interface Calendar {
  readonly product: Product;
  /** Stores DAGs (name → options), each with one task that returns its dates; answers their ids. */
  readonly define: (dags: Readonly<Record<string, string>>, body?: string) => Promise<string[]>;
  /** Sets the clock. */
  readonly at: (instant: string) => void;
  /** Sets the clock and lets it tick; answers how many runs were made. */
  readonly tick: (instant: string) => Promise<number>;
  /** As the processor does with what it has stored: it is looked at at once. */
  readonly switchOn: (instant: string, ...dagIds: string[]) => Promise<number>;
  /** `start/end` of every run, oldest first, without waiting. */
  readonly intervals: (dagId: string) => Promise<string[]>;
  /** Waits for all runs of the DAG to succeed; checks that each body saw its interval. Answers `start/end ds`. */
  readonly settled: (dagId: string, withinMs?: number) => Promise<string[]>;
  /** All tries of the DAG, in the order of its runs. */
  readonly tries: (dagId: string) => Promise<TryView[]>;
  readonly trigger: (dagId: string, logicalDate: string) => Promise<TriggeredRun>;
  /** The same over the API. */
  readonly post: (
    dagId: string,
    logicalDate: string,
  ) => Promise<{ status: number; body: Record<string, unknown> }>;
  /** The DAG as the API shows it. */
  readonly shown: (dagId: string) => Promise<Record<string, unknown>>;
}

const BODY =
  "({ ds, dataInterval }) => ({ ds, from: dataInterval.start.toISOString(), to: dataInterval.end.toISOString() })";

const short = (date: Date): string => date.toISOString().replace(/:00\.000Z$|\.000Z$/, "Z");

/** Call inside `describe`. DAGs end with the test that made them, so that no later tick finds them due. */
export function useCalendar(options: ProductOptions = {}): Calendar {
  let product: Product;
  let files: string[] = [];
  beforeAll(async () => {
    product = await startProduct(options);
  });
  afterEach(async () => {
    for (const file of files) await product.remove(file);
    files = [];
  });
  afterAll(async () => await product.stop());

  const set = (instant: string): void => {
    product.at = Date.parse(instant);
    expect(product.at, instant).not.toBeNaN();
  };
  return {
    get product() {
      return product;
    },
    async define(dags, body = BODY) {
      const ids = Object.keys(dags).map(idOf);
      const text = Object.entries(dags)
        .map(([name, given]) => `dag("${idOf(name)}", { ${given} }, () => { task("only", ${body}); });`)
        .join("\n");
      const file = `${ids[0]}.ts`;
      if (!files.includes(file)) files.push(file);
      await product.save(file, text);
      return ids;
    },
    at: set,
    async tick(instant) {
      set(instant);
      return await product.createDue();
    },
    async switchOn(instant, ...dagIds) {
      set(instant);
      return await product.createDue(dagIds);
    },
    async intervals(dagId) {
      return (await product.runs(dagId)).map((run) => `${short(run.start_at)}/${short(run.end_at)}`);
    },
    async settled(dagId, withinMs = 60_000) {
      const seen: string[] = [];
      for (const run of await product.runs(dagId)) {
        const view = await product.ended(dagId, run.run_id, withinMs);
        expect([run.run_id, view.state, view.tries.length]).toEqual([run.run_id, "success", 1]);
        const output = view.tries[0]!.output as { ds: string; from: string; to: string };
        expect(output).toMatchObject({ from: run.start_at.toISOString(), to: run.end_at.toISOString() });
        seen.push(`${short(run.start_at)}/${short(run.end_at)} ${output.ds}`);
      }
      return seen;
    },
    async tries(dagId) {
      const runs = await product.runs(dagId);
      return (await Promise.all(runs.map(async (run) => await product.run(dagId, run.run_id)))).flatMap(
        (run) => run.tries,
      );
    },
    async trigger(dagId, logicalDate) {
      return await product.client.trigger({
        dagId,
        logicalAt: Date.parse(logicalDate),
        conf: {},
        who: "test",
      });
    },
    async post(dagId, logicalDate) {
      const response = await api(product).request(`/api/v1/dags/${dagId}/runs`, {
        method: "POST",
        headers: { "Content-Type": "application/json", Host: "localhost" },
        body: JSON.stringify({ logicalDate }),
      });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    },
    async shown(dagId) {
      const response = await api(product).request(`/api/v1/dags/${dagId}`, {
        headers: { Host: "localhost" },
      });
      expect(response.status).toBe(200);
      return (await response.json()) as Record<string, unknown>;
    },
  };
}

const api = (product: Product) =>
  appOf(product, { logs: { read: async () => ({ text: "", nextOffset: 0, done: true }) } });

export function instants(from: string, to: string, everyMinutes: number): string[] {
  const all: string[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += everyMinutes * 60_000) {
    all.push(new Date(at).toISOString());
  }
  return all;
}

/** Each try began after the one before had ended, in the order of the runs. */
export function expectOneAtATime(tries: readonly TryView[]): void {
  for (const [i, one] of tries.entries()) {
    const before = tries[i - 1]?.ended_at ?? null;
    if (before !== null) expect(one.started_at.getTime()).toBeGreaterThanOrEqual(before.getTime());
  }
}
