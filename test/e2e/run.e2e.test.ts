import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { workflowIdOf } from "../../core/ids.ts";
import { executionsOf } from "../support/executions.ts";
import { sleep, startProduct, until, type Product } from "../support/product.ts";

let product: Product;
beforeAll(async () => {
  product = await startProduct({ env: { MERIDIAN_BLOCKED_AFTER_MS: "1500", MERIDIAN_THREADS: "2" } });
});
afterAll(async () => await product.stop());

async function trigger(dagId: string, conf: Record<string, unknown> = {}) {
  const { runId } = await product.client.trigger({ dagId, logicalAt: null, conf, who: "test" });
  return await product.ended(dagId, runId, 45_000);
}

describe("B3: a run on real servers", () => {
  it("A1 A2: outputs reach their typed consumers, the interval comes from the run", async () => {
    await product.save(
      "chain.ts",
      `dag("e2e_chain", { schedule: "@daily", startDate: "2026-01-01", zone: "Europe/Berlin" }, () => {
        const numbers = task("numbers", () => [1, 2, 3]);
        const total = task("total", { inputs: { numbers } }, ({ inputs }) => inputs.numbers.reduce((a, b) => a + b, 0));
        task("report", { inputs: { total } }, ({ inputs, ds, dataInterval, log }) => {
          log.info("total " + inputs.total);
          return { text: ds + ": " + inputs.total, from: dataInterval.start.toISOString(), to: dataInterval.end.toISOString() };
        });
      });`,
    );
    const at = Date.parse("2026-03-27T23:00:00Z");
    const { runId } = await product.client.trigger({
      dagId: "e2e_chain",
      logicalAt: at,
      conf: {},
      who: "test",
    });
    const run = await product.ended("e2e_chain", runId);
    expect(run.state).toBe("success");
    expect(run.cells).toEqual({ numbers: "success", total: "success", report: "success" });
    expect(run.tries.find((one) => one.task_id === "report")!.output).toEqual({
      text: "2026-03-28: 6",
      from: "2026-03-27T23:00:00.000Z",
      to: "2026-03-28T23:00:00.000Z",
    });
    const log = await product.logs.read(
      { dagId: "e2e_chain", runId, taskId: "report", mapIndex: -1, try: 1 },
      0,
    );
    expect(log.lines.map((line) => line.text)).toContain("total 6");
  });

  it("A5 B8: tries run out after the retries, each kept with its error; downstream is upstream_failed", async () => {
    await product.save(
      "fails.ts",
      `dag("e2e_fails", { schedule: null }, () => {
        const bad = task("bad", { retries: 2, retryDelay: 50 }, () => { throw new Error("no luck"); });
        task("after", { after: [bad] }, () => 1);
        task("apart", () => 2);
      });`,
    );
    const run = await trigger("e2e_fails");
    expect(run.state).toBe("failed");
    expect(run.cells).toEqual({ bad: "failed", after: "upstream_failed", apart: "success" });
    const tries = run.tries.filter((one) => one.task_id === "bad");
    expect(tries.map((one) => [one.try, one.state, one.error.message])).toEqual([
      [1, "failed", "no luck"],
      [2, "failed", "no luck"],
      [3, "failed", "no luck"],
    ]);
  });

  it("A5: fail() is not retried, skip() skips, an execution time-out ends the try", async () => {
    await product.save(
      "ends.ts",
      `dag("e2e_ends", { schedule: null, defaults: { retryDelay: 10 } }, () => {
        task("fatal", { retries: 5 }, () => fail("give up"));
        const none = task("none", () => skip("nothing to do"));
        task("behind", { after: [none] }, () => 1);
        task("slow", { executionTimeout: 300 }, async ({ signal }) => {
          await new Promise((done) => { const t = setTimeout(done, 60_000); signal.addEventListener("abort", () => { clearTimeout(t); done(0); }); });
        });
      });`,
    );
    const run = await trigger("e2e_ends");
    expect(run.cells).toEqual({ fatal: "failed", none: "skipped", behind: "skipped", slow: "failed" });
    expect(run.tries.filter((one) => one.task_id === "fatal")).toHaveLength(1);
    expect(run.tries.find((one) => one.task_id === "slow")).toMatchObject({ state: "timed_out" });
  });

  it("B7: a while(true) body hurts only its own try", async () => {
    await product.save(
      "loops.ts",
      `dag("e2e_loops", { schedule: null }, () => {
        task("forever", { executionTimeout: 6000 }, () => { while (true); });
        for (let i = 0; i < 6; i++) task("fine" + i, async () => { await new Promise((done) => setTimeout(done, 400)); return i; });
      });`,
    );
    const run = await trigger("e2e_loops");
    expect(run.state).toBe("failed");
    expect(run.cells["forever"]).toBe("failed");
    expect(run.tries.filter((one) => one.task_id === "forever").at(-1)!.state).toBe("timed_out");
    for (let i = 0; i < 6; i++) expect(run.cells[`fine${i}`]).toBe("success");
  });

  it("K36: a timed-out try that finishes later is refused; downstream runs once with the new output", async () => {
    await product.save(
      "late.ts",
      `dag("e2e_late", { schedule: null }, () => {
        const slow = task("slow", { executionTimeout: 600, retries: 2, retryDelay: 10 }, async (ctx) => {
          await new Promise((done) => setTimeout(done, ctx.try === 1 ? 1500 : 200));
          return ctx.try === 1 ? "old" : "new";
        });
        task("use", { inputs: { slow } }, async ({ inputs }) => { await new Promise((d) => setTimeout(d, 1500)); return inputs.slow; });
      });`,
    );
    const run = await trigger("e2e_late");
    expect(run.state).toBe("success");
    expect(run.tries.map((one) => [one.task_id, one.try, one.state, one.output])).toEqual([
      ["slow", 1, "timed_out", null],
      ["slow", 2, "success", "new"],
      ["use", 1, "success", "new"],
    ]);
  });

  it("A12: an output of 60 kB reaches its consumer", async () => {
    await product.save(
      "large.ts",
      `dag("e2e_large", { schedule: null }, () => {
        const big = task("big", () => "x".repeat(60_000));
        task("use", { inputs: { big } }, ({ inputs }) => inputs.big.length);
      });`,
    );
    const run = await trigger("e2e_large");
    expect(run.tries.find((one) => one.task_id === "use")!.output).toBe(60_000);
    const big = run.tries.find((one) => one.task_id === "big")!;
    expect(big.output).toHaveLength(60_000);
    expect([big.worker === null, big.started_at === null]).toEqual([false, false]);
  });

  it("opens-itself: a plan too large for a workflow's input comes with the run's first local activity", async () => {
    await product.save(
      "wide.ts",
      `dag("e2e_wide", { schedule: null }, () => {
        const wide = Array.from({ length: 160 }, (_, i) => task("wide_" + i, () => i));
        task("join", { after: wide }, () => "joined");
      });`,
    );
    await product.save("small.ts", `dag("e2e_small", { schedule: null }, () => { task("one", () => 1); });`);
    const inputs: Record<string, boolean> = {};
    for (const dagId of ["e2e_wide", "e2e_small"]) {
      expect((await trigger(dagId)).state).toBe("success");
      const { run_id: runId } = (await product.runs(dagId))[0]!;
      const history = await product.temporal.workflow.getHandle(workflowIdOf(dagId, runId)).fetchHistory();
      const payload = history.events![0]!.workflowExecutionStartedEventAttributes!.input!.payloads![0]!;
      inputs[dagId] = "opened" in (JSON.parse(Buffer.from(payload.data!).toString()) as object);
    }
    expect(inputs).toEqual({ e2e_wide: false, e2e_small: true });
  });

  it("poison: texts that PostgreSQL cannot hold, in errors and messages, are kept as far as it can, and hold up nobody", async () => {
    await product.save(
      "poison.ts",
      `dag("e2e_poison", { schedule: null }, () => {
        task("nul", () => { throw new Error("a\\0b \\\\u0000"); });
        task("half", () => { throw new Error("a\\ud800b"); });
        task("skipped", () => skip("c\\0d"));
        task("fine", () => 1);
      });`,
    );
    const run = await trigger("e2e_poison");
    expect(run.cells).toEqual({ nul: "failed", half: "failed", skipped: "skipped", fine: "success" });
    const messages = Object.fromEntries(run.tries.map((one) => [one.task_id, one.error?.message]));
    expect(messages).toMatchObject({ nul: "a\ufffdb \\u0000", half: "a\ufffdb", skipped: "c\ufffdd" });
  });

  it("fan-out: 150 tries that end together fail no workflow task", async () => {
    await product.pool.query("update app.account set slots = 1000 where key = 'pool:default_pool'");
    await product.save(
      "fan.ts",
      `dag("e2e_fan", { schedule: null }, () => {
        const root = task("root", () => null);
        const wide = Array.from({ length: 150 }, (_, i) => task("w" + i, { after: [root] }, () => null));
        task("join", { after: wide }, () => null);
      });`,
    );
    for (let n = 0; n < 3; n++) expect((await trigger("e2e_fan")).state).toBe("success");
    for (const { run_id: runId } of await product.runs("e2e_fan"))
      for (const { failedTasks } of await executionsOf(product, "e2e_fan", runId))
        expect(failedTasks).toEqual([]);
  });

  it("B4: 30 chains at once: a task is queued, and its slot granted, within 10 s of its upstream's end", async () => {
    await product.save(
      "chains.ts",
      `dag("e2e_chains", { schedule: null, maxActiveRuns: 30 }, () => {
        let last = task("t0", () => null);
        for (let i = 1; i < 6; i++) last = task("t" + i, { after: [last] }, () => null);
      });`,
    );
    await Promise.all(Array.from({ length: 30 }, async () => await trigger("e2e_chains")));
    const { rows } = await product.pool.query<{ queued: number; started: number }>(
      `select extract(epoch from c.queued_at - u.ended_at)::float8 * 1000 as queued,
              extract(epoch from c.started_at - u.ended_at)::float8 * 1000 as started
       from app.dag_run d join app.cell c using (run)
       join app.cell u on u.run = c.run and u.task_id = 't' || (substr(c.task_id, 2)::integer - 1)
       where d.dag_id = 'e2e_chains' order by 2`,
    );
    expect(rows).toHaveLength(150);
    const { started } = rows.at(-1)!;
    console.log(
      `upstream's end → start: median ${rows[75]!.started.toFixed()} ms, last ${started.toFixed()} ms`,
    );
    expect(started).toBeLessThan(10_000);
    expect(Math.max(...rows.map((row) => row.queued))).toBeLessThan(10_000);
  });

  it("large-conf: 200 kB handed to a run of 40 tasks reach each of them", async () => {
    await product.save(
      "conf.ts",
      `dag("e2e_conf", { schedule: null }, () => {
        for (let i = 0; i < 40; i++) task("t" + i, ({ conf }) => conf.text.length);
      });`,
    );
    const run = await trigger("e2e_conf", { text: "x".repeat(200_000) });
    expect(run.state).toBe("success");
    expect(new Set(run.tries.map((one) => one.output))).toEqual(new Set([200_000]));
  });

  it("B11: a slot whose return the database lost in a crash comes back, and what waits for it runs", async () => {
    const { pool } = product;
    await pool.query("insert into app.account (key, slots) values ('pool:lost_slot', 1)");
    await product.save(
      "lost.ts",
      `dag("e2e_lost_slot", { schedule: null, defaults: { pool: "lost_slot" } }, () => {
        task("a", { priorityWeight: 9 }, async () => { await new Promise((done) => setTimeout(done, 1500)); });
        task("b", () => 2);
      });`,
    );
    const { runId } = await product.client.trigger({
      dagId: "e2e_lost_slot",
      logicalAt: null,
      conf: {},
      who: "test",
    });
    const { run } = await product.run("e2e_lost_slot", runId);
    const leases = async () =>
      (
        await pool.query(
          "select task_id, granted_at is not null as granted from app.lease where run = $1 and task_id <> '' order by 1",
          [run],
        )
      ).rows;
    await until(async () =>
      (await pool.query("select from app.task_try where run = $1 and task_id = 'a'", [run])).rowCount === 1
        ? true
        : null,
    );
    // Nothing is granted when a ends; then it is as if the commit of its record had been lost.
    await pool.query("update app.account set slots = 0 where key = 'pool:lost_slot'");
    await until(async () => ((await leases()).length === 1 ? true : null));
    await pool.query(
      `with again as (
         insert into app.lease (run, task_id, try, account, slots, granted_at, told_at, known)
         values ($1, 'a', 1, 'pool:lost_slot', 1, now(), now() - interval '1 minute', true))
       update app.task_try set state = 'running', ended_at = null where run = $1 and task_id = 'a'`,
      [run],
    );
    await pool.query("update app.account set slots = 1 where key = 'pool:lost_slot'");
    expect((await product.ended("e2e_lost_slot", runId, 20_000)).cells).toEqual({
      a: "success",
      b: "success",
    });
    expect(await leases()).toEqual([]);
  });

  it("A cancel in Temporal stops the bodies and ends the run as cancelled, its records written", async () => {
    await product.save(
      "cancel.ts",
      `dag("e2e_cancel", { schedule: null }, () => {
        const wait = task("wait", async ({ signal }) => {
          await new Promise((done) => signal.addEventListener("abort", done));
        });
        task("after", { after: [wait] }, () => 1);
      });`,
    );
    const { runId, workflowId } = await product.client.trigger({
      dagId: "e2e_cancel",
      logicalAt: null,
      conf: {},
      who: "test",
    });
    await until(async () =>
      (await product.run("e2e_cancel", runId)).cells["wait"] === "running" ? true : null,
    );
    await product.temporal.workflow.getHandle(workflowId).cancel();
    const run = await product.ended("e2e_cancel", runId);
    expect(run.state).toBe("cancelled");
    expect(run.cells).toEqual({ wait: "cancelled", after: "cancelled" });
    const { rows } = await product.pool.query("select * from app.lease where run = $1", [run.run]);
    expect(rows).toEqual([]);
  });

  it("K47 (form 1): a run terminated in Temporal Web gives its slots back and is shown as failed, with the reason", async () => {
    const { runId, workflowId } = await product.client.trigger({
      dagId: "e2e_cancel",
      logicalAt: null,
      conf: {},
      who: "test",
    });
    await until(async () =>
      (await product.run("e2e_cancel", runId)).cells["wait"] === "running" ? true : null,
    );
    await sleep(1200);
    await product.temporal.workflow.getHandle(workflowId).terminate("by hand");
    const run = await product.ended("e2e_cancel", runId);
    expect(run).toMatchObject({ state: "failed", reason: "its workflow is terminated in Temporal" });
    const { rows } = await product.pool.query("select * from app.lease where run = $1", [run.run]);
    expect(rows).toEqual([]);
  });

  it("K71: 20 triggers with one logical date make one run; nineteen are told which", async () => {
    const at = Date.parse("2026-02-01T00:00:00Z");
    const answers = await Promise.allSettled(
      Array.from(
        { length: 20 },
        async () =>
          await product.client.trigger({ dagId: "e2e_chain", logicalAt: at, conf: {}, who: "test" }),
      ),
    );
    const made = answers.filter((answer) => answer.status === "fulfilled");
    const refused = answers.filter((answer) => answer.status === "rejected");
    expect(made).toHaveLength(1);
    expect(refused).toHaveLength(19);
    for (const answer of refused) {
      expect(answer.reason).toMatchObject({ code: "run_exists", details: { runId: "2026-02-01T00-00-00Z" } });
    }
    expect(
      (await product.runs("e2e_chain")).filter((run) => run.run_id === "2026-02-01T00-00-00Z"),
    ).toHaveLength(1);
  });
});
