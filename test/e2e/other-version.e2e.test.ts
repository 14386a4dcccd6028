import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startProduct, type Product } from "../support/product.ts";
import { dagFile, Runs } from "../support/named-runs.ts";

let product: Product;
let runs: Runs;
beforeAll(async () => {
  product = await startProduct();
  runs = new Runs(product);
}, 120_000);
afterAll(async () => await product.stop());

const save = async (dagId: string, body: string) =>
  await product.save(`${dagId}.ts`, `export default ${dagFile(dagId, body)}`);

async function versionOf(dagId: string): Promise<number> {
  const { rows } = await product.pool.query<{ version: number }>(
    "select version::float8 as version from app.dag where dag_id = $1",
    [dagId],
  );
  return rows[0]!.version;
}

const clear = async (
  dagId: string,
  runId: string,
  tasks: readonly string[],
  version?: number,
  id = randomUUID(),
) =>
  await product.client.command({
    dagId,
    runId,
    who: "test",
    command: {
      id,
      kind: "clear",
      selection: { tasks: tasks.map((taskId) => ({ taskId })) },
      ...(version !== undefined && { version }),
    },
  });

const rowOf = async (dagId: string, runId: string) => {
  const { rows } = await product.pool.query<{ version: number; n: number }>(
    `select r.version::float8 as version, (select count(*)::int from app.lease l where l.run = r.run) as n
     from app.dag_run r where r.dag_id = $1 and r.run_id = $2`,
    [dagId, runId],
  );
  return { version: rows[0]!.version, leases: rows[0]!.n };
};
const triesOf = async (run: number, taskId: string) =>
  (
    await product.pool.query<{ map_index: number; try: number; state: string }>(
      "select map_index, try, state from app.task_try where run = $1 and task_id = $2 order by map_index, try",
      [run, taskId],
    )
  ).rows.map((row) => [row.map_index, row.try, row.state]);

const BROKEN = `const a = task("a", () => 1);
  const b = task("b", { inputs: { a } }, () => { throw new Error("broken"); });
  task("d", { after: [a] }, () => "d");`;
const MENDED = `const a = task("a", () => 2);
  const b = task("b", { inputs: { a } }, ({ inputs }) => "mended " + inputs.a);
  task("c", { inputs: { b } }, ({ inputs }) => inputs.b + ", seen");`;

describe("B2 B9: a run is cleared with another version, on real servers", () => {
  it("B2 B9: mended code runs, what is new runs, what is gone is removed with its tries kept", async () => {
    await save("mended", BROKEN);
    const first = await versionOf("mended");
    const before = await runs.trigger("mended");
    expect(before).toMatchObject({ state: "failed", cells: { a: "success", b: "failed", d: "success" } });
    await save("mended", MENDED);
    const second = await versionOf("mended");
    const runId = (await product.runs("mended"))[0]!.run_id;

    // With its own version it runs the code of before.
    expect(await clear("mended", runId, ["b"])).toEqual({ cells: 1 });
    const original = await runs.ended("mended", runId);
    expect(original).toMatchObject({ state: "failed", tries: { b: 2 } });
    expect((await rowOf("mended", runId)).version).toBe(first);

    const id = randomUUID();
    expect(await clear("mended", runId, ["b"], second, id)).toEqual({ cells: 2, removed: 1 });
    // Asked again, by whoever lost the answer, it is answered the same.
    expect(await clear("mended", runId, ["b"], second, id)).toEqual({ cells: 2, removed: 1 });
    const latest = await runs.ended("mended", runId);
    expect(latest).toMatchObject({
      state: "success",
      cells: { a: "success", b: "success", c: "success", d: "removed" },
      outputs: { a: 1, b: "mended 1", c: "mended 1, seen", d: "d" },
      tries: { a: 1, b: 3, c: 1, d: 1 },
    });
    expect(await triesOf(latest.run, "d")).toEqual([[-1, 1, "success"]]);
    expect(await rowOf("mended", runId)).toEqual({ version: second, leases: 0 });

    // From now on that is its version, also for a workflow that is started anew.
    expect(await clear("mended", runId, ["a", "b", "c"])).toEqual({ cells: 3 });
    expect(await runs.ended("mended", runId)).toMatchObject({
      state: "success",
      outputs: { c: "mended 2, seen" },
    });
    expect((await rowOf("mended", runId)).version).toBe(second);

    // And back: the task that was gone goes on with its tries.
    expect(await clear("mended", runId, ["b"], first)).toEqual({ cells: 2, removed: 1 });
    expect(await runs.ended("mended", runId)).toMatchObject({
      state: "failed",
      cells: { b: "failed", c: "removed", d: "success" },
      tries: { b: 5, d: 2 },
    });
  });
});
