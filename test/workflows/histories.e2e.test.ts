/**
 * What a run's workflow does is kept as histories, and every later code must do the same with them (docs/adr/0012).
 * `npm run histories` writes them anew: only before a release, or for a new scenario.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "@temporalio/worker";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { workflowIdOf } from "../../core/ids.ts";
import { startProduct, type Product } from "../support/product.ts";
import { workflowBundle } from "../../worker/bundle.ts";
import { HISTORIES, written } from "./kept.ts";
import { SCENARIOS } from "./scenarios.ts";

let product: Product;
let codePath: string;
beforeAll(async () => {
  product = await startProduct();
  codePath = await workflowBundle(() => undefined);
}, 120_000);
afterAll(async () => await product.stop());

describe("B3: a run's workflow does the same when it is replayed", () => {
  it.for(SCENARIOS)("B3: $name", async ({ name, dag, after, executions = 1 }) => {
    const dagId = name.replaceAll("-", "_");
    await product.save(`${dagId}.ts`, dag.replaceAll("ID", dagId));
    const { runId } = await product.client.trigger({
      dagId,
      logicalAt: Date.UTC(2026, 4, 9),
      conf: {},
      who: "test",
    });
    await after?.(product, dagId, runId);
    await product.ended(dagId, runId);
    const workflowId = workflowIdOf(dagId, runId);
    const found: string[] = [];
    for await (const one of product.temporal.workflow.list({ query: `WorkflowId = '${workflowId}'` }))
      found.push(one.runId);
    expect(found.length).toBeGreaterThanOrEqual(executions);
    for (const [n, execution] of found.toReversed().entries()) {
      const handle = product.temporal.workflow.getHandle(workflowId, execution);
      await handle.result().catch(() => undefined);
      const history = await handle.fetchHistory();
      await Worker.runReplayHistory({ workflowBundle: { codePath } }, history, workflowId);
      if (process.env["MERIDIAN_KEEP_HISTORIES"] !== "1") continue;
      mkdirSync(HISTORIES, { recursive: true });
      writeFileSync(join(HISTORIES, `${name}-${n + 1}.history`), written(history));
    }
  });
});
