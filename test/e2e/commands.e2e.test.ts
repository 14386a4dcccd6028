import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { workflowIdOf } from "../../core/ids.ts";
import type { RunCommand } from "../../core/run-command.ts";
import type { Selection } from "../../core/selection.ts";
import { sleep, startProduct, until, type Product } from "../support/product.ts";

let product: Product;
beforeAll(async () => {
  product = await startProduct();
}, 120_000);
afterAll(async () => await product.stop());

type Asked = RunCommand extends infer C ? (C extends RunCommand ? Omit<C, "id"> : never) : never;

async function ask(dagId: string, runId: string, command: Asked, id = randomUUID()) {
  return await product.client.command({
    dagId,
    runId,
    who: "test",
    command: { id, ...command } as RunCommand,
  });
}
const clear = async (dagId: string, runId: string, selection: Partial<Selection> = {}) =>
  await ask(dagId, runId, { kind: "clear", selection: { tasks: [], ...selection } });

async function trigger(dagId: string, conf: Record<string, unknown> = {}, logicalAt: number | null = null) {
  return (await product.client.trigger({ dagId, logicalAt, conf, who: "test" })).runId;
}
const triesOf = async (dagId: string, runId: string, taskId: string) =>
  (await product.run(dagId, runId)).tries
    .filter((one) => one.task_id === taskId)
    .map((one) => [one.try, one.state]);
const stateOf = async (dagId: string, runId: string, taskId: string) =>
  (await product.run(dagId, runId)).cells[taskId];

describe("B9: commands to runs, on real servers", () => {
  it("K31 B8: a failed task is cleared after the end: new tries, and what could not run runs", async () => {
    await product.save(
      "again.ts",
      `export default dag("again", {}, () => {
         const a = task("a", { retries: 2, retryDelay: 10 }, ({ tryNumber }) => { if (tryNumber % 3 !== 0) throw new Error("no " + tryNumber); return tryNumber; });
         const b = task("b", { inputs: { a } }, ({ inputs }) => { if (inputs.a < 6) throw new Error("still " + inputs.a); return inputs.a; });
         task("c", { inputs: { b } }, ({ inputs }) => inputs.b);
       });`,
    );
    const runId = await trigger("again");
    expect(await product.ended("again", runId)).toMatchObject({
      state: "failed",
      cells: { a: "success", b: "failed", c: "upstream_failed" },
    });
    expect(await clear("again", runId, { tasks: [{ taskId: "a" }, { taskId: "b" }] })).toEqual({ cells: 2 });
    const ended = await product.ended("again", runId);
    expect(ended).toMatchObject({ state: "success", cells: { a: "success", b: "success", c: "success" } });
    expect(await triesOf("again", runId, "a")).toEqual([
      [1, "failed"],
      [2, "failed"],
      [3, "success"],
      [4, "failed"],
      [5, "failed"],
      [6, "success"],
    ]);
    expect(await triesOf("again", runId, "b")).toEqual([
      [1, "failed"],
      [2, "success"],
    ]);
    const { rows } = await product.pool.query("select count(*)::int as n from app.lease");
    expect(rows[0].n).toBe(0);
  });

  it("K32: cleared while it runs: the old try is stopped within a second, the next one runs though there are no retries", async () => {
    await product.save(
      "slow.ts",
      `export default dag("slow", {}, () => {
         task("a", async ({ signal, tryNumber }) => {
           if (tryNumber > 1) return "second";
           await new Promise((resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
         });
       });`,
    );
    const runId = await trigger("slow");
    await until(async () => ((await stateOf("slow", runId, "a")) === "running" ? true : null));
    const began = Date.now();
    await clear("slow", runId, { tasks: [{ taskId: "a" }] });
    const ended = await product.ended("slow", runId);
    expect(Date.now() - began).toBeLessThan(5_000);
    expect(ended.state).toBe("success");
    expect(await triesOf("slow", runId, "a")).toEqual([
      [1, "cancelled"],
      [2, "success"],
    ]);
  });

  it("a command that is sent twice is done once; one that nothing fits is refused with the reason", async () => {
    await product.save("twice.ts", `export default dag("twice", {}, () => { task("a", () => 1); });`);
    const runId = await trigger("twice");
    await product.ended("twice", runId);
    const id = randomUUID();
    const asked = { kind: "clear", selection: { tasks: [] } } as const;
    expect(await ask("twice", runId, asked, id)).toEqual({ cells: 1 });
    await product.ended("twice", runId);
    await expect(clear("twice", runId, { tasks: [{ taskId: "b" }] })).rejects.toMatchObject({
      kind: "not_found",
      code: "no_task",
    });
    await expect(clear("twice", runId, { onlyFailed: true })).rejects.toMatchObject({
      code: "nothing_to_do",
    });
    await expect(ask("twice", runId, { kind: "end", as: "failed", reason: "x" })).rejects.toMatchObject({
      code: "run_closed",
      message: expect.stringContaining("is over already") as string,
    });
    expect((await product.run("twice", runId)).state).toBe("success");
    expect(await triesOf("twice", runId, "a")).toHaveLength(2);
    await expect(clear("twice", "2026-01-01T00-00-00Z")).rejects.toMatchObject({ code: "no_run" });
  });

  it("several clear the same run at once: all are answered, and it ends", async () => {
    await product.save(
      "crowd.ts",
      `export default dag("crowd", {}, () => { for (let i = 0; i < 30; i++) task("t" + i, () => i); });`,
    );
    const runId = await trigger("crowd");
    await product.ended("crowd", runId);
    for (let round = 0; round < 3; round++) {
      await Promise.all(Array.from({ length: 4 }, async () => await clear("crowd", runId)));
      expect((await product.ended("crowd", runId)).state).toBe("success");
    }
    const { rows } = await product.pool.query(
      "select count(*)::int as n from app.lease l join app.dag_run r on r.run = l.run where r.dag_id = 'crowd'",
    );
    expect(rows[0].n).toBe(0);
  });

  it("a run that was opened again and then terminated in Temporal Web is not opened from where it was before", async () => {
    await product.save(
      "gone.ts",
      `export default dag("gone", {}, () => { task("a", async ({ tryNumber, signal }) => {
         if (tryNumber === 1) return;
         await new Promise((resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
       }); });`,
    );
    const runId = await trigger("gone");
    await product.ended("gone", runId);
    await clear("gone", runId);
    await until(async () => ((await stateOf("gone", runId, "a")) === "running" ? true : null));
    await product.temporal.workflow.getHandle(workflowIdOf("gone", runId)).terminate("by hand");
    expect((await product.ended("gone", runId)).state).toBe("failed");
    await expect(clear("gone", runId)).rejects.toMatchObject({ code: "run_forgotten" });
  });

  it("mark: a failed task counts as success, and the rest runs; a running one is stopped and counts as failed", async () => {
    await product.save(
      "marks.ts",
      `export default dag("marks", {}, () => {
         const a = task("a", () => { throw new Error("no"); });
         const b = task("b", { after: [a] }, async ({ signal }) => {
           await new Promise((resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
         });
         task("c", { after: [b], triggerRule: "all_done" }, () => 1);
       });`,
    );
    const runId = await trigger("marks");
    await product.ended("marks", runId);
    await ask("marks", runId, { kind: "mark", as: "success", selection: { tasks: [{ taskId: "a" }] } });
    await until(async () => ((await stateOf("marks", runId, "b")) === "running" ? true : null));
    await ask("marks", runId, { kind: "mark", as: "failed", selection: { tasks: [{ taskId: "b" }] } });
    expect(await product.ended("marks", runId)).toMatchObject({
      state: "success",
      cells: { a: "success", b: "failed", c: "success" },
    });
  });

  it("K33: five runs cleared at once keep the limit of two, and begin in their order", async () => {
    await product.save(
      "limited.ts",
      `export default dag("limited", { maxActiveRuns: 2 }, () => {
         task("a", async () => { await new Promise((resolve) => setTimeout(resolve, 400)); });
       });`,
    );
    const dates = [1, 2, 3, 4, 5].map((day) => Date.UTC(2026, 0, day));
    const runs: string[] = [];
    for (const at of dates) {
      runs.push(await trigger("limited", {}, at));
      await product.ended("limited", runs.at(-1)!);
    }
    for (const runId of runs) await clear("limited", runId);
    let most = 0;
    await until(async () => {
      const { rows } = await product.pool.query(
        "select count(*) filter (where state = 'running')::int as running, count(*) filter (where state in ('queued', 'running'))::int as open from app.dag_run where dag_id = 'limited'",
      );
      most = Math.max(most, rows[0].running);
      return rows[0].open === 0 ? true : null;
    });
    expect(most).toBeLessThanOrEqual(2);
    const began = (await Promise.all(runs.map(async (runId) => await product.run("limited", runId)))).map(
      (run) => run.tries.find((one) => one.try === 2)!.started_at.getTime(),
    );
    expect(began).toEqual(began.toSorted((a, b) => a - b));
  });

  it("a run that is ended by hand: what runs is stopped, what waits never begins; a run that waits for its place ends too", async () => {
    await product.save(
      "ends.ts",
      `export default dag("ends", { maxActiveRuns: 1 }, () => {
         const a = task("a", async ({ signal }) => {
           await new Promise((resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
         });
         task("b", { after: [a] }, () => 1);
       });`,
    );
    const first = await trigger("ends");
    const second = await trigger("ends");
    await until(async () => ((await stateOf("ends", first, "a")) === "running" ? true : null));
    await expect(clear("ends", second)).rejects.toMatchObject({ code: "run_not_begun" });
    await ask("ends", second, { kind: "end", as: "cancelled", reason: "not needed" });
    expect(await product.run("ends", second)).toMatchObject({ state: "cancelled", reason: "not needed" });
    await ask("ends", first, { kind: "end", as: "failed", reason: "the source is wrong" });
    const asked = Date.now();
    const over = await product.ended("ends", first);
    expect(over.tries[0]!.ended_at!.getTime() - asked, "its body hears of it within a second").toBeLessThan(
      1_500,
    );
    expect(over).toMatchObject({
      state: "failed",
      reason: "the source is wrong",
      cells: { a: "failed", b: "cancelled" },
    });
  });

  it("K78: the last task is cleared at the moment the run completes, 40 times: refused, or it ran again", async () => {
    await product.save(
      "closing.ts",
      `export default dag("closing", { maxActiveRuns: 100 }, () => {
         task("a", async () => { await new Promise((resolve) => setTimeout(resolve, 150)); return 1; });
       });`,
    );
    const runs: string[] = [];
    for (let n = 0; n < 40; n++) runs.push(await trigger("closing", {}, Date.UTC(2026, 2, 1 + n)));
    const accepted = await Promise.all(
      runs.map(async (runId, n) => {
        await sleep(100 + (n % 20) * 15);
        return await clear("closing", runId).then(
          () => true,
          () => false,
        );
      }),
    );
    for (const [n, runId] of runs.entries()) {
      await product.ended("closing", runId);
      const tries = await triesOf("closing", runId, "a");
      expect([accepted[n], tries.length > 1], JSON.stringify(tries)).toEqual([accepted[n], accepted[n]]);
    }
    expect(accepted.filter(Boolean).length).toBeGreaterThan(10);
  });
});
