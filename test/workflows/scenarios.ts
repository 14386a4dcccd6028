/** Runs whose histories are kept: each thing that a run's workflow does. */
import { randomUUID } from "node:crypto";
import type { RunCommand } from "../../core/run-command.ts";
import { endWait } from "../support/end-wait.ts";
import { until, type Product } from "../support/product.ts";

export interface Scenario {
  readonly name: string;
  /** Text of a DAG file; `ID` is the DAG's id. */
  readonly dag: string;
  /** What is asked of its run, after its beginning. */
  readonly after?: (product: Product, dagId: string, runId: string) => Promise<void>;
  /** How many workflow executions it takes. */
  readonly executions?: number;
}

const ask = async (product: Product, dagId: string, runId: string, command: object): Promise<void> => {
  const whole = { id: randomUUID(), ...command } as RunCommand;
  await product.client.command({ dagId, runId, who: "test", command: whole });
};
const isRunning = async (product: Product, dagId: string, runId: string, taskId: string): Promise<void> => {
  await until(async () => ((await product.run(dagId, runId)).cells[taskId] === "running" ? true : null));
};
async function inForce(product: Product, dagId: string): Promise<number> {
  const { rows } = await product.pool.query<{ version: number }>(
    "select version::float8 as version from app.dag where dag_id = $1",
    [dagId],
  );
  return rows[0]!.version;
}
const WAITS = `async ({ signal }) => { await new Promise((resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))); }`;

export const SCENARIOS: readonly Scenario[] = [
  {
    name: "chain-with-a-retry",
    dag: `export default dag("ID", {}, () => {
      const a = task("a", { retries: 1, retryDelay: 10 }, ({ tryNumber }) => { if (tryNumber === 1) throw new Error("no"); return 1; });
      const b = task("b", { inputs: { a } }, ({ inputs }) => inputs.a + 1);
      task("c", { after: [b] }, () => skip("enough"));
    });`,
  },
  {
    name: "mapped-with-a-reducer",
    dag: `export default dag("ID", {}, () => {
      const list = task("list", () => ["x", "y", "z"]);
      const load = task("load", { expand: { item: list }, maxActivePerRun: 2 }, ({ inputs }) => inputs.item + "!");
      task("sum", { inputs: { load } }, ({ inputs }) => inputs.load.join(""));
    });`,
  },
  {
    name: "waits-of-each-kind",
    dag: `export default dag("ID", {}, ({ sensor, waitFor, waitUntil }) => {
      const soon = waitUntil("soon", { delay: "1s" });
      const answer = waitFor("answer", { after: [soon] });
      let checks = 0;
      const file = sensor("file", { every: "1s" }, () => (checks += 1) > 1 && "there");
      const body = task("body", { after: [answer] }, ({ resumed }) => {
        if (resumed === undefined) defer({ for: 500 }, { state: 1 });
        return resumed.state;
      });
      task("all", { inputs: { answer, file, body } }, ({ inputs }) => inputs);
    });`,
    after: async (product, dagId, runId) => {
      const { run } = await product.run(dagId, runId);
      await until(async () =>
        (await product.run(dagId, runId)).cells["answer"] === "deferred" ? true : null,
      );
      await endWait(product, run, "answer", "yes");
    },
  },
  {
    name: "cleared-after-its-end",
    dag: `export default dag("ID", {}, () => {
      const a = task("a", ({ tryNumber }) => { if (tryNumber === 1) throw new Error("no"); });
      task("b", { after: [a] }, () => 1);
    });`,
    after: async (product, dagId, runId) => {
      await product.ended(dagId, runId);
      await ask(product, dagId, runId, { kind: "clear", selection: { tasks: [{ taskId: "a" }] } });
    },
    executions: 2,
  },
  {
    name: "cleared-with-another-version",
    dag: `export default dag("ID", {}, () => {
      const a = task("a", () => { throw new Error("no"); });
      const list = task("list", () => ["x"]);
      task("load", { expand: { item: list } }, ({ inputs }) => inputs.item);
      task("old", () => 1);
    });`,
    after: async (product, dagId, runId) => {
      await product.ended(dagId, runId);
      const before = await inForce(product, dagId);
      const text = `const a = task("a", () => 1); const list = task("list", { after: [a] }, () => ["x"]); task("load", { expand: { item: list } }, ({ inputs }) => inputs.item); task("new", { after: [a] }, ${WAITS});`;
      await product.save(`${dagId}.ts`, `export default dag("${dagId}", {}, () => { ${text} });`);
      const selection = { tasks: [{ taskId: "a" }] };
      await ask(product, dagId, runId, {
        kind: "clear",
        selection,
        version: await inForce(product, dagId),
      });
      await isRunning(product, dagId, runId, "new");
      await ask(product, dagId, runId, { kind: "clear", selection, version: before }).catch(() => undefined);
      await ask(product, dagId, runId, {
        kind: "mark",
        as: "success",
        selection: { tasks: [{ taskId: "new" }] },
      });
    },
    executions: 2,
  },
  {
    name: "cleared-and-marked-while-it-runs",
    dag: `export default dag("ID", {}, () => {
      const a = task("a", async (c) => { if (c.tryNumber > 1) return; await (${WAITS})(c); });
      task("b", { after: [a] }, ${WAITS});
    });`,
    after: async (product, dagId, runId) => {
      await isRunning(product, dagId, runId, "a");
      await ask(product, dagId, runId, { kind: "clear", selection: { tasks: [{ taskId: "a" }] } });
      await isRunning(product, dagId, runId, "b");
      await ask(product, dagId, runId, {
        kind: "mark",
        as: "success",
        selection: { tasks: [{ taskId: "b" }] },
      });
    },
  },
  {
    name: "ended-by-hand-with-a-teardown",
    dag: `export default dag("ID", {}, () => {
      const setup = task("setup", { setup: true }, () => 1);
      const work = task("work", { after: [setup] }, ${WAITS});
      task("teardown", { after: [work], teardown: [setup] }, () => 1);
    });`,
    after: async (product, dagId, runId) => {
      await isRunning(product, dagId, runId, "work");
      await ask(product, dagId, runId, { kind: "end", as: "failed", reason: "by hand" });
    },
  },
  {
    name: "again-as-a-whole",
    dag: `export default dag("ID", { runRetries: 1, runRetryDelay: 10, runTimeout: "1h" }, () => {
      task("a", ({ tryNumber }) => { if (tryNumber === 1) throw new Error("no"); });
    });`,
  },
];
