import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tellWaits } from "../../client/waker.ts";
import type { EventAnswer, WaitDetail } from "../../db/waits.ts";
import { endWait } from "../support/end-wait.ts";
import { dagFile, Runs } from "../support/named-runs.ts";
import { startProduct, until, type Product } from "../support/product.ts";

let product: Product;
let runs: Runs;
/** What came to the address of alerts; the first is not taken. */
const alerts: { readonly key: unknown; readonly answered: number; readonly body: Record<string, unknown> }[] =
  [];
const receiver = createServer((request, response) => {
  let text = "";
  request.on("data", (chunk: Buffer) => (text += chunk.toString()));
  request.on("end", () => {
    const answered = alerts.length === 0 ? 503 : 204;
    const body = JSON.parse(text) as Record<string, unknown>;
    alerts.push({ key: request.headers["idempotency-key"], answered, body });
    response.writeHead(answered).end();
  });
});
beforeAll(async () => {
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const { port } = receiver.address() as AddressInfo;
  const env = { MERIDIAN_LOST_AFTER_MS: "6000", MERIDIAN_ALERT_URL: `http://127.0.0.1:${port}/alerts` };
  product = await startProduct({ env });
  runs = new Runs(product);
});
afterAll(async () => {
  await product.stop();
  receiver.close();
});

/** Somebody ends a wait from outside. */
async function end(
  run: number,
  taskId: string,
  payload: unknown,
  mapIndex = -1,
  detail: WaitDetail | null = null,
): Promise<EventAnswer> {
  const answer = await endWait(product, run, taskId, payload, { map_index: mapIndex, detail });
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

  it("K37: a sensor's time-out runs over its retries, and ends it once, without another try; softFail skips it", async () => {
    await product.save(
      "late.ts",
      dagFile(
        "wait_late",
        `const check = ({ try: number, log }) => { log.info("checked"); if (number === 1) throw new Error("no connection"); return false; };
         const options = { every: "1s", timeout: "5s", retries: 3, retryDelay: "1s" };
         const hard = sensor("hard", options, check);
         const soft = sensor("soft", { ...options, softFail: true }, check);
         task("after_hard", { after: [hard] }, () => 1);
         task("after_soft", { after: [soft] }, () => 1);`,
      ),
    );
    const { runId } = await begin("wait_late");
    const run = await runs.ended("wait_late", runId);
    expect(run.cells).toEqual({
      hard: "failed",
      soft: "skipped",
      after_hard: "upstream_failed",
      after_soft: "skipped",
    });
    expect(run.tries).toEqual({ hard: 2, soft: 2 });
    const { tries } = await product.run("wait_late", runId);
    expect(tries.map((one) => [one.task_id, one.state, one.error?.code])).toEqual([
      ["hard", "failed", "Error"],
      ["hard", "timed_out", "wait_timeout"],
      ["soft", "failed", "Error"],
      ["soft", "skipped", "skipped"],
    ]);
    const [first, last] = tries;
    const took = last!.ended_at!.getTime() - first!.started_at.getTime();
    expect(took).toBeGreaterThan(4_500);
    expect(took).toBeLessThan(8_000);
    // One alert, sent until it is taken; none of what was to be skipped.
    const { rows } = await until(
      async () => {
        const found = await product.pool.query("select * from app.alert where run = $1", [run.run]);
        return found.rows.every((row) => row.sent_at !== null) ? found : null;
      },
      15_000,
      "the alert",
    );
    expect(rows.map((row) => [row.task_id, row.try, row.kind, row.attempts])).toEqual([
      ["hard", 2, "wait_timeout", 2],
    ]);
    expect(alerts.map((one) => [one.answered, one.key])).toEqual([
      [503, `${run.run}/hard/-1/2/wait_timeout`],
      [204, `${run.run}/hard/-1/2/wait_timeout`],
    ]);
    expect(alerts[1]!.body).toMatchObject({ dag: "wait_late", run: runId, task: "hard", try: 2 });
  });

  it("A6 A7: each instance of a mapped wait is ended by itself, and what is mapped over an event waits for its list", async () => {
    await product.save(
      "mapped.ts",
      dagFile(
        "wait_mapped",
        `const each = waitFor("each", { expand: { n: [1, 2, 3] } });
         const list = waitFor("list");
         const work = task("work", { expand: { item: list } }, ({ inputs }) => inputs.item * 10);
         task("all", { inputs: { each, work } }, ({ inputs }) => inputs);`,
      ),
    );
    const { runId, run } = await begin("wait_mapped");
    await inState("wait_mapped", runId, "each[2]", "deferred");
    await inState("wait_mapped", runId, "list", "deferred");
    for (const index of [2, 0, 1]) expect(await end(run, "each", `e${index}`, index)).toBe("ended");
    expect(await end(run, "list", [1, 2], -1, { measured: { items: 2 } })).toBe("ended");
    const ended = await runs.ended("wait_mapped", runId);
    expect(ended.outputs["all"]).toEqual({ each: ["e0", "e1", "e2"], work: [10, 20] });
  });

  it("A6 K30: a wait that is cleared waits anew; the end of the one before is too late, and its address with it", async () => {
    await product.save("clear.ts", dagFile("wait_clear", `waitFor("approval");`));
    const { runId, run } = await begin("wait_clear");
    await inState("wait_clear", runId, "approval", "deferred");
    await runs.clear("wait_clear", runId, ["approval"]);
    await until(async () => ((await runs.view("wait_clear", runId)).tries["approval"] === 2 ? true : null));
    await inState("wait_clear", runId, "approval", "deferred");
    expect(await endWait(product, run, "approval", 1, { try: 1, wait: 1 })).toBe("too_late");
    expect(await end(run, "approval", "second")).toBe("ended");
    const ended = await runs.ended("wait_clear", runId);
    expect([ended.state, ended.outputs["approval"]]).toEqual(["success", "second"]);
    const { tries } = await product.run("wait_clear", runId);
    expect(tries.map((one) => one.state)).toEqual(["cancelled", "success"]);
    // regression: the cell has the times of its latest try.
    const { rows: cells } = await product.pool.query("select started_at from app.cell where run = $1", [run]);
    expect(cells[0].started_at).toEqual(tries[1]!.started_at);
  });

  it("A6: a run that is ended waits for nothing more, and a check under way hears of it within a second", async () => {
    await product.save(
      "ended.ts",
      dagFile(
        "wait_ended",
        `sensor("slow", { every: "1s" }, async ({ signal, log, conf }) => {
           const { appendFileSync, existsSync } = await import("node:fs");
           if (!existsSync(conf.marks)) { appendFileSync(conf.marks, "first\\n"); return false; }
           appendFileSync(conf.marks, "check " + Date.now() + "\\n");
           await new Promise((done) => signal.addEventListener("abort", done));
           appendFileSync(conf.marks, "stopped " + Date.now() + "\\n");
         });
         waitFor("approval");`,
      ),
    );
    const marks = join(product.config.home, "slow-marks");
    const { runId, run } = await begin("wait_ended", { marks });
    const text = (): string => (existsSync(marks) ? readFileSync(marks, "utf8") : "");
    await until(async () => (text().includes("check") ? true : null), 20_000, "a check");
    const at = Date.now();
    await product.client.command({
      dagId: "wait_ended",
      runId,
      who: "test",
      command: { id: "end-it", kind: "end", as: "cancelled", reason: "not needed" },
    });
    const ended = await runs.ended("wait_ended", runId);
    expect([ended.state, ended.cells]).toEqual(["cancelled", { slow: "cancelled", approval: "cancelled" }]);
    await until(async () => (text().includes("stopped") ? true : null), 5_000, "the check's end");
    expect(Number(/stopped (\d+)/.exec(text())![1]) - at).toBeLessThan(2_000);
    expect(await end(run, "approval", 1)).toBe("too_late");
    const { rows } = await product.pool.query("select from app.wait where run = $1 and not known", [run]);
    expect(rows).toEqual([]);
  });
});
