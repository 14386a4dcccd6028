import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { partIdOf, workflowIdOf } from "../../core/ids.ts";
import { executionsOf, partsOf } from "../support/executions.ts";
import { dagFile, Runs, type NamedRun } from "../support/named-runs.ts";
import { startProduct, until, type Product } from "../support/product.ts";

let product: Product;
let runs: Runs;
beforeAll(async () => {
  product = await startProduct({
    env: { MERIDIAN_TURN_OVER_EVENTS: "60", MERIDIAN_LOST_AFTER_MS: "6000" },
  });
  runs = new Runs(product);
});
afterAll(async () => await product.stop());

const markOf = (dagId: string, what: string): string => join(product.config.home, `${dagId}.${what}`);
const release = (dagId: string, what: string): void => writeFileSync(markOf(dagId, what), "");

/**
 * `held` is a try of the run itself and keeps it from turning over; after a chain that makes its history long, the three
 * instances of `each` run in a part. Both wait until they are released, or stopped.
 */
async function begin(dagId: string, more = ""): Promise<string> {
  const waits = (what: string): string => `async ({ signal, tryNumber }) => {
    const { existsSync } = await import("node:fs");
    while (!existsSync(${JSON.stringify(markOf(dagId, what))})) {
      signal.throwIfAborted();
      await new Promise((done) => setTimeout(done, 50));
    }
    return tryNumber;
  }`;
  await product.save(
    `${dagId}.ts`,
    dagFile(
      dagId,
      `const held = task("held", ${waits("held")});
       let before = task("t0", () => 0);
       for (let i = 1; i < 15; i++) before = task("t" + i, { after: [before] }, () => 0);
       const each = task("each", { expand: { n: [0, 1, 2] }, after: [before] }, ${waits("each")});
       ${more}
       task("last", { inputs: { each }, after: [held] }, ({ inputs }) => inputs.each);`,
    ),
  );
  const runId = await runs.begin(dagId);
  await until(async () => {
    const { cells } = await runs.view(dagId, runId);
    return [0, 1, 2].every((i) => cells[`each[${i}]`] === "running") ? true : null;
  });
  return runId;
}

/** Number of the part that its instances run in. */
async function partOf(dagId: string, runId: string): Promise<number> {
  const { memo } = await product.temporal.workflow.getHandle(workflowIdOf(dagId, runId)).describe();
  return (memo!["parts"] as number[]).at(-1)!;
}

const terminate = async (dagId: string, runId: string, part: number): Promise<void> => {
  const id = partIdOf(workflowIdOf(dagId, runId), part);
  await product.temporal.workflow.getHandle(id).terminate("by hand");
};

async function turnedOver(dagId: string, runId: string): Promise<void> {
  release(dagId, "held");
  await until(async () => ((await executionsOf(product, dagId, runId)).length > 1 ? true : null));
}

const eachOf = <T>(cells: Readonly<Record<string, T>>): (T | undefined)[] =>
  [0, 1, 2].map((i) => cells[`each[${i}]`]);

async function triesOf(run: NamedRun): Promise<string[]> {
  const { rows } = await product.pool.query<{ one: string }>(
    `select map_index || '.' || try || ' ' || state as one from app.task_try
     where run = $1 and task_id = 'each' order by map_index, try`,
    [run.run],
  );
  return rows.map(({ one }) => one);
}

describe("B3: parts of a run", () => {
  it("B3: a run turns over while a part works on: its ends come to the next execution, each once", async () => {
    const runId = await begin("part_over");
    await turnedOver("part_over", runId);
    release("part_over", "each");
    const run = await runs.ended("part_over", runId);
    expect([run.state, run.outputs["last"]]).toEqual(["success", [1, 1, 1]]);
    expect(await triesOf(run)).toEqual(["0.1 success", "1.1 success", "2.1 success"]);
    expect(await runs.slotsInUse(run.run)).toBe(0);
    const executions = await executionsOf(product, "part_over", runId);
    for (const { failedTasks } of executions) expect(failedTasks).toEqual([]);
    // Named before it is there, the reconciler took it for gone, and its tries ran twice.
    expect(executions[0]!.namedTooEarly).toEqual([]);
    const parts = await partsOf(product, "part_over", runId);
    expect(parts.map(({ status, failedTasks }) => [status, failedTasks])).toEqual(
      parts.map(() => ["COMPLETED", []]),
    );
  });

  it("B7: a part is terminated: its tries are lost and run elsewhere", async () => {
    const runId = await begin("part_gone");
    await terminate("part_gone", runId, await partOf("part_gone", runId));
    release("part_gone", "each");
    release("part_gone", "held");
    const run = await runs.ended("part_gone", runId);
    expect([run.state, run.outputs["last"]]).toEqual(["success", [2, 2, 2]]);
    expect(await triesOf(run)).toEqual([0, 1, 2].flatMap((i) => [`${i}.1 lost`, `${i}.2 success`]));
    expect(await runs.slotsInUse(run.run)).toBe(0);
  });

  it("B7: a part is terminated after the run has turned over: the reconciler tells the run, and no sooner", async () => {
    const runId = await begin("part_lost");
    const part = await partOf("part_lost", runId);
    await turnedOver("part_lost", runId);
    // Its slots are old enough to be looked at by now, and no try of the part is taken for an idle slot.
    const { rows } = await product.pool.query("select now() as at");
    await until(async () => {
      const { rows: passed } = await product.pool.query(
        "select now() > $1::timestamptz + interval '3 seconds' as is",
        [rows[0].at],
      );
      return passed[0].is ? true : null;
    });
    expect((await executionsOf(product, "part_lost", runId)).at(-1)!.signals).toBe(0);
    await terminate("part_lost", runId, part);
    release("part_lost", "each");
    const run = await runs.ended("part_lost", runId);
    expect([run.state, run.outputs["last"]]).toEqual(["success", [2, 2, 2]]);
    expect(await triesOf(run)).toEqual([0, 1, 2].flatMap((i) => [`${i}.1 lost`, `${i}.2 success`]));
  });

  it("B3 K77: a run that is ended stops its parts, also after it has turned over; its teardowns run", async () => {
    const runId = await begin(
      "part_ended",
      `const up = task("up", { setup: true }, () => 0);
       up.before(each);
       task("down", { after: [each], teardown: [up] }, () => "down");`,
    );
    await turnedOver("part_ended", runId);
    await runs.fail("part_ended", runId);
    const run = await runs.ended("part_ended", runId);
    expect(run.state).toBe("failed");
    expect(eachOf(run.cells)).toEqual(["failed", "failed", "failed"]);
    expect(run.cells).toMatchObject({ down: "success", last: "cancelled" });
    expect(await triesOf(run)).toEqual(["0.1 cancelled", "1.1 cancelled", "2.1 cancelled"]);
    expect(await runs.slotsInUse(run.run)).toBe(0);
    await until(async () => {
      const parts = await partsOf(product, "part_ended", runId);
      return parts.every(({ status }) => status !== "RUNNING") ? true : null;
    });
  });

  it("regression B9: a try in a part, in a queue that no worker serves, is marked at once", async () => {
    const dagId = "part_nobody";
    const runId = await begin(dagId, `task("nobody", { after: [before], queue: "nobody" }, () => 1);`);
    const part = partIdOf(workflowIdOf(dagId, runId), await partOf(dagId, runId));
    await until(async () => {
      const { raw } = await product.temporal.workflow.getHandle(part).describe();
      return raw.pendingActivities?.some((one) => one.activityId === "nobody.1") === true ? true : null;
    });
    const selection = { tasks: [{ taskId: "nobody" }] };
    await product.client.command({
      dagId,
      runId,
      who: "test",
      command: { id: "mark-it", kind: "mark", as: "success", selection },
    });
    await until(
      async () => ((await runs.view(dagId, runId)).cells["nobody"] === "success" ? true : null),
      10_000,
      "its end",
    );
    release(dagId, "held");
    release(dagId, "each");
    expect((await runs.ended(dagId, runId)).state).toBe("success");
  });

  it("B3: a run is cancelled in Temporal Web while it has parts: it ends as cancelled, in Temporal too", async () => {
    const runId = await begin("part_cancelled");
    await turnedOver("part_cancelled", runId);
    const handle = product.temporal.workflow.getHandle(workflowIdOf("part_cancelled", runId));
    await handle.cancel();
    const run = await runs.ended("part_cancelled", runId);
    expect(run.state).toBe("cancelled");
    expect(eachOf(run.cells)).toEqual(["cancelled", "cancelled", "cancelled"]);
    await until(async () => ((await handle.describe()).status.name === "CANCELLED" ? true : null));
  });

  it("B3: a run is terminated: its parts go with it, and its slots come back", async () => {
    const runId = await begin("part_orphan");
    const part = await partOf("part_orphan", runId);
    await product.temporal.workflow.getHandle(workflowIdOf("part_orphan", runId)).terminate("by hand");
    const run = await runs.ended("part_orphan", runId);
    expect(run.state).toBe("failed");
    const id = partIdOf(workflowIdOf("part_orphan", runId), part);
    expect((await product.temporal.workflow.getHandle(id).describe()).status.name).toBe("TERMINATED");
    expect(await runs.slotsInUse(run.run)).toBe(0);
  });
});
