import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { appOf } from "../support/app.ts";
import { TryList } from "../../api/contracts.ts";
import { workflowIdOf } from "../../core/ids.ts";
import { openObjects } from "../../platform/objects/open.ts";
import { startS3, type S3Server } from "../platform/objects/s3-server.ts";
import { startProduct, until, type Product } from "../support/product.ts";

let folder: Product;
let remote: Product;
let s3: S3Server;
beforeAll(async () => {
  s3 = await startS3();
  folder = await startProduct({ env: { MERIDIAN_LOST_AFTER_MS: "15000" } });
  remote = await startProduct({ env: { MERIDIAN_OBJECTS: "s3://bucket/test", ...s3.env } });
});
afterAll(async () => {
  await folder.stop();
  await remote.stop();
  await s3.stop();
});

async function begin(product: Product, dagId: string): Promise<string> {
  return (await product.client.trigger({ dagId, logicalAt: null, conf: {}, who: "test" })).runId;
}

async function run(product: Product, dagId: string) {
  const runId = await begin(product, dagId);
  return { runId, ...(await product.ended(dagId, runId, 45_000)) };
}

const withObjects = async (product: Product) =>
  appOf(product, { objects: await openObjects(product.config) });

const spool = (product: Product): string[] => {
  const path = join(product.config.home, "spool");
  return existsSync(path) ? readdirSync(path) : [];
};

/** One output of about 3 MB, read by several tasks in threads and in a process of its own, by any trigger rule. */
const LARGE = (id: string): string => `dag("${id}", { schedule: null }, () => {
  const rows = task("rows", () => ({ note: "grüße", rows: Array.from({ length: 100_000 }, (_, i) => ({ i, text: "row number " + i })) }));
  const small = task("small", () => [1]);
  for (let i = 0; i < 4; i++) {
    task("sum" + i, { inputs: { rows, small }, triggerRule: i === 0 ? "all_done" : "all_success", isolation: i === 1 ? "own" : "shared" }, ({ inputs }) =>
      [inputs.rows.note, inputs.rows.rows.length, inputs.rows.rows.reduce((sum, row) => sum + row.i, 0), inputs.small]);
  }
});`;

describe("A12 K59: large outputs go by reference", () => {
  it.each([
    ["a folder", () => folder],
    ["S3", () => remote],
  ])(
    "through %s: consumers get the value, Temporal and the database only know where it is",
    async (name, of) => {
      const product = of();
      const dagId = name === "S3" ? "large_s3" : "large_folder";
      await product.save("large.ts", LARGE(dagId));
      const { runId, state, tries } = await run(product, dagId);
      expect(state).toBe("success");
      for (let i = 0; i < 4; i++) {
        expect(tries.find((one) => one.task_id === `sum${i}`)!.output).toEqual([
          "grüße",
          100_000,
          4_999_950_000,
          [1],
        ]);
      }
      expect(tries.find((one) => one.task_id === "rows")!.output).toBeNull();
      const history = await product.temporal.workflow.getHandle(workflowIdOf(dagId, runId)).fetchHistory();
      expect(JSON.stringify(history).length).toBeLessThan(100_000);

      const app = await withObjects(product);
      const path = `/api/v1/dags/${dagId}/runs/${runId}/tasks/rows/tries`;
      const list = TryList.parse(await (await app.request(path)).json());
      const { stored, output } = list.tries[0]!;
      expect(output).toBeNull();
      expect(stored).toMatchObject({ href: `${path}/1/output` });
      const answer = await app.request(stored!.href);
      expect(answer.headers.get("content-type")).toBe("application/json");
      expect(answer.headers.get("content-length")).toBe(String(stored!.bytes));
      const value = (await answer.json()) as { note: string; rows: unknown[] };
      expect([value.note, value.rows.length, value.rows.at(-1)]).toEqual([
        "grüße",
        100_000,
        { i: 99_999, text: "row number 99999" },
      ]);

      // A small one stands in the list, and is to be had the same way; one that failed has none.
      const small = `/api/v1/dags/${dagId}/runs/${runId}/tasks/small/tries`;
      expect(TryList.parse(await (await app.request(small)).json()).tries[0]).toMatchObject({
        output: [1],
        stored: null,
      });
      expect(await (await app.request(`${small}/1/output`)).json()).toEqual([1]);
      expect((await app.request(`${small}/2/output`)).status).toBe(404);
      // What was spooled has left; copies of S3 are kept for further consumers.
      expect(spool(product).filter((file) => !file.startsWith("copy-"))).toEqual([]);
      expect(spool(product).length).toBe(name === "S3" ? 1 : 0);
    },
  );

  it("one result of 2 MiB and a byte; 500 of 10 KiB reduced by one task", async () => {
    await folder.save(
      "many.ts",
      `dag("large_many", { schedule: null }, () => {
        const one = task("one", () => "x".repeat(2 * 1024 * 1024 + 1 - 2));
        const inputs = {};
        for (let i = 0; i < 500; i++) inputs["n" + i] = task("n" + i, () => "y".repeat(10 * 1024));
        task("all", { inputs: { ...inputs, one } }, ({ inputs }) => Object.values(inputs).map((text) => text.length).reduce((a, b) => a + b, 0));
      });`,
    );
    const { state, tries } = await run(folder, "large_many");
    expect(state).toBe("success");
    expect(tries.find((one) => one.task_id === "all")!.output).toBe(500 * 10 * 1024 + 2 * 1024 * 1024 - 1);
  });

  it("with the store away a try waits: its output is not lost, its body not run again, no retry is used", async () => {
    await remote.save(
      "away.ts",
      `dag("large_away", { schedule: null }, () => {
        const rows = task("rows", ({ log }) => { log.info("the body runs"); return "x".repeat(200_000); });
        task("length", { inputs: { rows } }, ({ inputs }) => inputs.rows.length);
      });`,
    );
    await s3.pause();
    const runId = await begin(remote, "large_away");
    const key = { dagId: "large_away", runId, taskId: "rows", mapIndex: -1, try: 1 };
    const texts = async (): Promise<string[]> =>
      (await remote.logs.read(key, 0).catch(() => ({ lines: [] }))).lines.map((line) => line.text);
    await until(
      async () => (await texts()).some((text) => text.includes("does not answer as it should")) || null,
    );
    expect((await remote.run("large_away", runId)).state).toBe("running");
    await s3.resume();
    const ended = await remote.ended("large_away", runId, 45_000);
    expect(ended.state).toBe("success");
    expect(ended.tries.map((one) => `${one.task_id} ${one.try}`).sort()).toEqual(["length 1", "rows 1"]);
    expect(ended.tries.find((one) => one.task_id === "length")!.output).toBe(200_000);
    expect((await texts()).filter((text) => text === "the body runs")).toHaveLength(1);
  });

  it("an output that somebody deleted fails its consumer with what, where and what to do; a retry may find it again", async () => {
    await folder.save(
      "missing.ts",
      `dag("large_missing", { schedule: null }, () => {
        const rows = task("rows", () => "x".repeat(200_000));
        const pause = task("pause", { after: [rows] }, async ({ log }) => { log.info("now"); await new Promise((done) => setTimeout(done, 1500)); });
        task("length", { inputs: { rows }, after: [pause], retries: 1, retryDelay: 50 }, ({ inputs }) => inputs.rows.length);
      });`,
    );
    const runId = await begin(folder, "large_missing");
    const object = join(folder.config.home, "objects/outputs/large_missing", runId, "rows.1.json");
    await until(async () => existsSync(object) || null);
    rmSync(object);
    const { state, tries } = await folder.ended("large_missing", runId, 45_000);
    expect(state).toBe("failed");
    const failures = tries.filter((one) => one.task_id === "length");
    expect(failures.map((one) => one.state)).toEqual(["failed", "failed"]);
    expect(failures[0]!.error).toMatchObject({
      code: "input_missing",
      message: expect.stringMatching(
        /input "rows", the output of task "rows", is not there any more: the object store file:.* has nothing under outputs\/large_missing\/.*\/rows\.1\.json.* Run task "rows" again/,
      ),
    });
  });
});

describe("K57 K58: what JSON loses fails with path and type, in a real run", () => {
  it("never arrives as null or {}", async () => {
    await folder.save(
      "lost.ts",
      `dag("lost", { schedule: null, defaults: { retries: 2 } }, () => {
        const bodies = {
          nan: () => ({ x: NaN, y: [1, Infinity] }), date: () => ({ at: new Date(0) }), big: () => [9007199254740993n],
          map: () => new Map([["a", 1]]), set: () => ({ s: new Set([1]) }), bytes: () => new Uint8Array(2), hole: () => ({ list: [1, undefined] }),
        };
        for (const [id, body] of Object.entries(bodies)) {
          const made = task(id, body);
          task("reads_" + id, { inputs: { made }, triggerRule: "all_done" }, ({ inputs }) => Object.hasOwn(inputs, "made"));
        }
        task("absent_key", () => ({ a: undefined, b: 1 }));
      });`,
    );
    const { tries } = await run(folder, "lost");
    const errorOf = (id: string): string => {
      const own = tries.filter((one) => one.task_id === id);
      // Trying again cannot help.
      expect(own.map((one) => one.state)).toEqual(["failed"]);
      expect(own[0]!.error.code).toBe("output_not_json");
      return own[0]!.error.message as string;
    };
    expect(errorOf("nan")).toMatch(/^output\.x is NaN/);
    expect(errorOf("date")).toMatch(/^output\.at is a Date/);
    expect(errorOf("big")).toMatch(/^output\[0\] is a bigint/);
    expect(errorOf("map")).toMatch(/^output is a Map/);
    expect(errorOf("set")).toMatch(/^output\.s is a Set/);
    expect(errorOf("bytes")).toMatch(/^output is a Uint8Array/);
    expect(errorOf("hole")).toMatch(/^output\.list\[1\] is of type undefined/);
    for (const id of ["nan", "date", "map"]) {
      expect(tries.find((one) => one.task_id === `reads_${id}`)!.output).toBe(false);
    }
    expect(tries.find((one) => one.task_id === "absent_key")!.output).toEqual({ b: 1 });
  });
});
