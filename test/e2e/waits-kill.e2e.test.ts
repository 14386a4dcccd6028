import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { endWait } from "../support/end-wait.ts";
import { dagFile } from "../support/named-runs.ts";
import { startProcess, type Started } from "../support/processes.ts";
import { startProduct, until, type Product } from "../support/product.ts";

/** The named size is 20 kills in a row; everyday the same edge is crossed once. */
const KILLS = process.env["MERIDIAN_TEST_FULL"] === "1" ? 20 : 1;
const WAITS = 20;

let product: Product;
let worker: Started | undefined;
let checks: string;
let there: string;

beforeAll(async () => {
  product = await startProduct({ worker: false });
  checks = join(product.config.home, "checks");
  there = join(product.config.home, "there");
});
afterAll(async () => {
  await worker?.kill();
  await product.stop();
});

const startWorker = async (): Promise<void> => {
  worker = await startProcess(["worker"], product.env, /worker for default is running/);
};

async function waiting(run: number): Promise<number> {
  const { rows } = await product.pool.query<{ n: number }>(
    "select count(*)::integer as n from app.cell where run = $1 and state = 'deferred'",
    [run],
  );
  return rows[0]!.n;
}

describe("A6 B7: kill -9 of the worker while tries wait", () => {
  it(
    `A6 K39: ${WAITS} events, sensors and a body that waits; ${KILLS} kills between their ends: none is lost, each ends once`,
    async () => {
      await product.save(
        "waits.ts",
        dagFile(
          "kill_waits",
          `const numbers = Array.from({ length: ${WAITS} }, (_, i) => i);
           const events = waitFor("events", { expand: { n: numbers } });
           const files = sensor("files", { expand: { n: numbers }, every: "1s" }, async ({ inputs, mapIndex, runId }) => {
             const { appendFileSync, readFileSync } = await import("node:fs");
             appendFileSync(${JSON.stringify(checks)}, mapIndex + "\\n");
             return readFileSync(${JSON.stringify(there)}, "utf8").includes(runId) && inputs.n * 2;
           });
           const body = task("body", ({ resumed }) => {
             if (resumed === undefined) defer({ event: true }, { state: "kept" });
             return resumed;
           });
           waitUntil("later", { at: "{{ conf.at }}" });
           task("all", { inputs: { events, files, body } }, ({ inputs }) => inputs);`,
        ),
      );
      writeFileSync(there, "");
      await startWorker();
      for (let kill = 0; kill < KILLS; kill++) {
        writeFileSync(checks, "");
        const conf = { at: new Date(Date.now() + 12_000).toISOString() };
        const { runId } = await product.client.trigger({
          dagId: "kill_waits",
          logicalAt: null,
          conf,
          who: "test",
        });
        const { run } = await product.run("kill_waits", runId);
        await until(async () => ((await waiting(run)) === 2 * WAITS + 2 ? true : null), 30_000, "all wait");
        const end = async (taskId: string, map_index: number, payload: unknown): Promise<string> =>
          await endWait(product, run, taskId, payload, { map_index });
        // Half of them end just before the kill, half while nobody is there.
        const killing = Promise.all([
          ...Array.from({ length: WAITS / 2 }, async (_, i) => await end("events", i, { i })),
          worker!.kill(),
        ]);
        await killing;
        for (let i = WAITS / 2; i < WAITS; i++) expect(await end("events", i, { i })).toBe("ended");
        expect(await end("events", 0, {})).toBe("already_ended");
        expect(await end("body", -1, "go")).toBe("ended");
        await startWorker();
        await until(async () => (readFileSync(checks, "utf8").length > 0 ? true : null), 20_000, "checks");
        appendFileSync(there, `${runId}\n`);
        const ended = await product.ended("kill_waits", runId, 60_000);
        expect(ended.state).toBe("success");
        const all = ended.tries.find((one) => one.task_id === "all")!.output as {
          events: { i: number }[];
          files: number[];
          body: unknown;
        };
        expect(all.events.map(({ i }) => i)).toEqual(Array.from({ length: WAITS }, (_, i) => i));
        // Zero is an answer: it is neither false nor nothing.
        expect(all.files).toEqual(Array.from({ length: WAITS }, (_, i) => i * 2));
        expect(all.body).toEqual({ payload: "go", state: "kept" });
        const waits = ended.tries.filter((one) => one.task_id !== "all");
        expect(waits.filter((one) => one.state === "success")).toHaveLength(2 * WAITS + 2);
        const { rows } = await product.pool.query(
          "select from app.wait where run = $1 and (not known or ended_as <> 'success')",
          [run],
        );
        expect(rows).toEqual([]);
      }
    },
    60_000 + KILLS * 90_000,
  );

  it("A6 B7: a body killed behind its wait goes on there in the next try: nobody is asked again", async () => {
    await product.save(
      "resumed.ts",
      dagFile(
        "kill_resumed",
        `task("body", async ({ resumed, try: number }) => {
           if (resumed === undefined) defer({ event: true }, { state: { asked: number } });
           await new Promise((done) => setTimeout(done, number === 1 ? 60_000 : 10));
           return { ...resumed, number };
         });`,
      ),
    );
    if (worker === undefined || worker.child.exitCode !== null) await startWorker();
    const { runId } = await product.client.trigger({
      dagId: "kill_resumed",
      logicalAt: null,
      conf: {},
      who: "test",
    });
    const { run } = await product.run("kill_resumed", runId);
    const inState = async (state: string): Promise<void> =>
      void (await until(
        async () => ((await product.run("kill_resumed", runId)).tries[0]?.state === state ? true : null),
        20_000,
        state,
      ));
    await inState("deferred");
    await endWait(product, run, "body", "go");
    await inState("running");
    await worker!.kill();
    await startWorker();
    const ended = await product.ended("kill_resumed", runId, 60_000);
    expect(ended.tries.map((one) => [one.try, one.state, one.output])).toEqual([
      [1, "lost", null],
      [2, "success", { payload: "go", state: { asked: 1 }, number: 2 }],
    ]);
  });
});
