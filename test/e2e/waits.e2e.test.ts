import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tellWaits } from "../../client/waker.ts";
import { endEvent, type EventAnswer } from "../../db/waits.ts";
import { dagFile, Runs } from "../support/named-runs.ts";
import { startProduct, until, type Product } from "../support/product.ts";

let product: Product;
let runs: Runs;
beforeAll(async () => {
  product = await startProduct({ env: { MERIDIAN_LOST_AFTER_MS: "6000" } });
  runs = new Runs(product);
});
afterAll(async () => await product.stop());

/** Somebody ends a wait from outside. */
async function end(run: number, taskId: string, payload: unknown, mapIndex = -1): Promise<EventAnswer> {
  const { answer } = await endEvent(product.pool, {
    run,
    task_id: taskId,
    map_index: mapIndex,
    try: null,
    wait: null,
    payload: JSON.stringify(payload),
    who: "test",
    detail: null,
  });
  await tellWaits({
    pool: product.pool,
    temporal: product.temporal,
    onError: (error) => {
      throw error;
    },
  });
  return answer;
}

async function begin(dagId: string, conf: Record<string, unknown> = {}, logicalAt: number | null = null) {
  const { runId } = await product.client.trigger({ dagId, logicalAt, conf, who: "test" });
  return { runId, run: (await product.run(dagId, runId)).run };
}

/** Of its tries. */
async function slotsOf(run: number): Promise<number> {
  const { rows } = await product.pool.query<{ n: number }>(
    "select count(*)::integer as n from app.lease where run = $1 and task_id <> ''",
    [run],
  );
  return rows[0]!.n;
}

const inState = async (dagId: string, runId: string, task: string, state: string): Promise<void> =>
  void (await until(
    async () => ((await runs.view(dagId, runId)).cells[task] === state ? true : null),
    20_000,
    `${task} of ${dagId} ${state}`,
  ));

describe("A6: waits on real servers", () => {
  it("A6: waitFor holds no slot, is ended once with its payload, and its consumer reads it", async () => {
    await product.save(
      "approve.ts",
      dagFile(
        "wait_event",
        `const ask = task("ask", () => "asked");
         const approval = waitFor("approval", { after: [ask] });
         task("go", { inputs: { approval } }, ({ inputs }) => inputs.approval);`,
      ),
    );
    const { runId, run } = await begin("wait_event");
    await inState("wait_event", runId, "approval", "deferred");
    expect(await slotsOf(run)).toBe(0);
    expect(await end(run, "approval", { by: "ann", z: 1, a: 2 })).toBe("ended");
    expect(await end(run, "approval", { by: "bob" })).toBe("already_ended");
    const ended = await runs.ended("wait_event", runId);
    expect([ended.state, ended.outputs["go"]]).toEqual(["success", { by: "ann", z: 1, a: 2 }]);
    expect(Object.keys(ended.outputs["go"] as object)).toEqual(["by", "z", "a"]);
    expect(ended.tries).toEqual({ ask: 1, approval: 1, go: 1 });
    expect(await end(run, "approval", {})).toBe("already_ended");
  });

  it("A6: a sensor defers after its first no, is checked without a slot, and its answer is its output", async () => {
    await product.save(
      "sensor.ts",
      dagFile(
        "wait_sensor",
        `let n = 0;
         const file = sensor("file", { every: "1s" }, ({ log }) => { n += 1; log.info("check " + n); return n < 3 ? false : { n }; });
         task("use", { inputs: { file } }, ({ inputs }) => inputs.file.n);`,
      ),
    );
    const { runId, run } = await begin("wait_sensor");
    await inState("wait_sensor", runId, "file", "deferred");
    expect(await slotsOf(run)).toBe(0);
    const ended = await runs.ended("wait_sensor", runId);
    expect([ended.state, ended.outputs["use"]]).toEqual(["success", 3]);
    expect(ended.tries).toEqual({ file: 1, use: 1 });
  });

  it("A6: waitUntil ends at its time; waitForRun when the other run has", async () => {
    await product.save(
      "until.ts",
      dagFile(
        "wait_until",
        `waitUntil("soon", { at: "{{ conf.at }}" });
         const first = task("first", () => new Promise((done) => setTimeout(() => done(1), 1500)));`,
      ) +
        dagFile(
          "wait_other",
          `const other = waitForRun("other", { dag: "wait_until", task: "first", every: "1s" });
           task("after", { after: [other] }, () => 1);`,
        ),
    );
    const at = new Date(Date.now() + 2_500).toISOString();
    const logicalAt = Date.parse("2026-01-02T00:00:00Z");
    const follower = await begin("wait_other", {}, logicalAt);
    await inState("wait_other", follower.runId, "other", "deferred");
    const { runId } = await begin("wait_until", { at }, logicalAt);
    const ended = await runs.ended("wait_until", runId);
    expect(ended.state).toBe("success");
    const soon = (await product.run("wait_until", runId)).tries.find((one) => one.task_id === "soon");
    expect(soon!.ended_at!.getTime()).toBeGreaterThanOrEqual(Date.parse(at));
    expect(soon!.ended_at!.getTime() - Date.parse(at)).toBeLessThan(2_000);
    expect((await runs.ended("wait_other", follower.runId)).state).toBe("success");
  });

  it("K38: a body that defers goes on in the same try, with what it kept, within its execution time-out", async () => {
    await product.save(
      "body.ts",
      dagFile(
        "wait_body",
        `task("work", { executionTimeout: "4s", retries: 1, retryDelay: 0 }, async ({ resumed, try: number, conf, signal }) => {
           if (resumed === undefined) defer({ event: true }, { state: { number } });
           if (conf.slow && number === 1) await new Promise((done) => { setTimeout(done, 20_000); signal.addEventListener("abort", done); });
           return { ...resumed, number };
         });`,
      ),
    );
    const quick = await begin("wait_body");
    await inState("wait_body", quick.runId, "work", "deferred");
    await end(quick.run, "work", "go");
    const done = await runs.ended("wait_body", quick.runId);
    expect([done.state, done.outputs["work"]]).toEqual([
      "success",
      { payload: "go", state: { number: 1 }, number: 1 },
    ]);

    const slow = await begin("wait_body", { slow: true });
    await inState("wait_body", slow.runId, "work", "deferred");
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    await end(slow.run, "work", "go");
    await until(
      async () => ((await product.run("wait_body", slow.runId)).tries.length > 1 ? true : null),
      10_000,
    );
    const [first] = (await product.run("wait_body", slow.runId)).tries;
    expect(first!.state).toBe("timed_out");
    const took = first!.ended_at!.getTime() - first!.started_at.getTime();
    expect(took).toBeGreaterThan(3_500);
    expect(took).toBeLessThan(6_000);
    await inState("wait_body", slow.runId, "work", "deferred");
    await end(slow.run, "work", "again");
    const second = await runs.ended("wait_body", slow.runId);
    expect([second.state, second.outputs["work"]]).toEqual([
      "success",
      { payload: "again", state: { number: 2 }, number: 2 },
    ]);
  });
});
