import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RunDetail } from "../../api/contracts.ts";
import { RunsCleared } from "../../api/contracts-commands.ts";
import { workflowIdOf } from "../../core/ids.ts";
import { get, post, testApp } from "../api/support.ts";
import { executionsOf } from "../support/executions.ts";
import { startProduct, until, type Product } from "../support/product.ts";
import { dagFile, Runs } from "../support/named-runs.ts";

let product: Product;
let runs: Runs;
beforeAll(async () => {
  product = await startProduct({ env: { MERIDIAN_TURN_OVER_EVENTS: "60" } });
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

const WAITS = `async ({ signal }) => { await new Promise((resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))); }`;
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

  it("B2 B9: while the run is under way it is refused, and the run goes on as it was; so are versions that are not its DAG's", async () => {
    await save("under_way", `task("a", ${WAITS}); task("b", () => 1);`);
    const runId = await runs.begin("under_way");
    await until(async () => ((await runs.view("under_way", runId)).cells["a"] === "running" ? true : null));
    await save("under_way", `task("a", () => 2);`);
    const second = await versionOf("under_way");
    await expect(clear("under_way", runId, ["a"], second)).rejects.toMatchObject({
      code: "run_open",
      message: expect.stringContaining("wait for its end, or end it") as string,
    });
    expect((await runs.view("under_way", runId)).cells).toEqual({ a: "running", b: "success" });
    await runs.fail("under_way", runId);
    expect(await runs.ended("under_way", runId)).toMatchObject({ state: "failed", cells: { a: "failed" } });

    await save("another", `task("a", () => 3);`);
    for (const other of [await versionOf("another"), 999_999])
      await expect(clear("under_way", runId, ["a"], other)).rejects.toMatchObject({ code: "no_version" });
    await expect(clear("under_way", runId, ["b"], second)).rejects.toMatchObject({ code: "no_task" });
    expect(await rowOf("under_way", runId)).not.toMatchObject({ version: second });
    // What was refused has changed nothing: with its own version it is as it was.
    await clear("under_way", runId, ["b"]);
    expect(await runs.ended("under_way", runId)).toMatchObject({
      cells: { a: "failed", b: "success" },
      tries: { b: 2 },
    });
    await clear("under_way", runId, ["a"], second);
    expect(await runs.ended("under_way", runId)).toMatchObject({ state: "success", outputs: { a: 2 } });
  });

  it("A7 B2: a mapped task with another list, and one that is not mapped any more", async () => {
    const mapped = (list: string): string =>
      `const list = task("list", () => ${list});
       const load = task("load", { expand: { item: list } }, ({ inputs }) => inputs.item + "!");
       task("sum", { inputs: { load } }, ({ inputs }) => inputs.load.join(""));`;
    await save("changing", mapped(`["x", "y", "z"]`));
    expect(await runs.trigger("changing")).toMatchObject({ outputs: { sum: "x!y!z!" } });
    const runId = (await product.runs("changing"))[0]!.run_id;

    // The same task with other code is not read again; a list of another task is another list.
    const other = `const more = task("more", () => ["p", "q"]);`;
    await save("changing", other + mapped(`["x"]`).replace("item: list", "item: more"));
    await clear("changing", runId, ["sum"], await versionOf("changing"));
    const second = await runs.ended("changing", runId);
    expect(second).toMatchObject({
      state: "success",
      cells: {
        list: "success",
        "load[0]": "success",
        "load[1]": "success",
        "load[2]": "removed",
        sum: "success",
      },
      outputs: { "load[0]": "p!", "load[1]": "q!", "load[2]": "z!" },
      tries: { list: 1, more: 1, "load[0]": 2, "load[1]": 2, "load[2]": 1 },
    });
    expect(second.outputs["sum"]).toBe("p!q!");

    await save(
      "changing",
      `const list = task("list", () => ["x"]); task("load", { inputs: { list } }, ({ inputs }) => inputs.list);`,
    );
    await clear("changing", runId, ["load"], await versionOf("changing"));
    const third = await runs.ended("changing", runId);
    expect(third).toMatchObject({
      state: "success",
      cells: { load: "success", "load[0]": "removed", "load[1]": "removed", more: "removed", sum: "removed" },
      outputs: { load: ["x", "y", "z"] },
      tries: { load: 1, "load[0]": 2 },
    });
    await save("changing", mapped(`["x"]`));
    await clear("changing", runId, ["list"], await versionOf("changing"));
    expect(await runs.ended("changing", runId)).toMatchObject({
      state: "success",
      cells: { list: "success", "load[0]": "success", "load[1]": "removed", sum: "success" },
      outputs: { sum: "x!" },
      tries: { list: 2, "load[0]": 3, sum: 3 },
    });
    expect((await runs.view("changing", runId)).cells).not.toHaveProperty("load");
  });

  it("K78: others that come in the same moment are done behind it, in the version it brought", async () => {
    await save("crowded", BROKEN);
    const runId = await runs.begin("crowded");
    await runs.ended("crowded", runId);
    await save("crowded", MENDED);
    const second = await versionOf("crowded");
    await product.temporal.workflow
      .getHandle(workflowIdOf("crowded", runId))
      .result()
      .catch(() => undefined);
    const answers = await Promise.allSettled([
      clear("crowded", runId, ["b"], second),
      clear("crowded", runId, ["a"]),
      clear("crowded", runId, ["b"], second),
      clear("crowded", runId, ["b"]),
    ]);
    // A plain one may come first: then the run is under way with its own version.
    for (const one of answers)
      if (one.status === "rejected") expect(one.reason).toMatchObject({ code: "run_open" });
    await runs.ended("crowded", runId);
    if ((await rowOf("crowded", runId)).version !== second) await clear("crowded", runId, ["b"], second);
    const ended = await runs.ended("crowded", runId);
    expect(ended).toMatchObject({ state: "success", cells: { b: "success", c: "success", d: "removed" } });
    expect(await rowOf("crowded", runId)).toEqual({ version: second, leases: 0 });
  });

  it("A9 B9: a run that waits for its place has the version already, and keeps it in a new workflow", async () => {
    const one = (body: string) =>
      product.save("placed.ts", `export default dag("placed", { maxActiveRuns: 1 }, () => { ${body} });`);
    await one(`task("a", () => 1);`);
    const [first, second] = [await runs.begin("placed"), await runs.begin("placed")];
    for (const runId of [first, second]) await runs.ended("placed", runId);
    await one(`task("a", ${WAITS});`);
    const waits = await versionOf("placed");
    await clear("placed", first, ["a"], waits);
    await until(async () => ((await runs.view("placed", first)).cells["a"] === "running" ? true : null));
    await one(`task("a", () => 3); task("b", () => 4);`);
    await clear("placed", second, ["a"], await versionOf("placed"));
    expect(await runs.view("placed", second)).toMatchObject({ state: "queued" });
    expect((await rowOf("placed", second)).version).toBe(await versionOf("placed"));
    await expect(clear("placed", second, ["a"], waits)).rejects.toMatchObject({ code: "run_open" });
    await runs.fail("placed", first);
    expect(await runs.ended("placed", second)).toMatchObject({ state: "success", outputs: { a: 3, b: 4 } });
  });

  it("B9: a range of runs, by the API: each says what became of it, and those under way are refused", async () => {
    const app = testApp({ db: product.pool, client: product.client });
    const ranged = async (body: object) => {
      const range = { from: "2026-01-01T00:00:00Z", until: "2026-01-04T00:00:00Z", version: "latest" };
      const response = await post(app, "/dags/ranged/clear", { ...range, ...body });
      expect(response.status).toBe(200);
      return RunsCleared.parse(await response.json()).runs.map((run) => [
        run.changed,
        run.refused?.code ?? null,
      ]);
    };
    await save(
      "ranged",
      `task("a", async ({ conf, signal }) => { if (conf.long) await (${WAITS})({ signal }); throw new Error("no"); });`,
    );
    const days: string[] = [];
    for (const [day, conf] of [{}, {}, { long: true }].entries()) {
      const logicalAt = Date.UTC(2026, 0, day + 1);
      days.push((await product.client.trigger({ dagId: "ranged", logicalAt, conf, who: "test" })).runId);
    }
    for (const runId of days.slice(0, 2)) await runs.ended("ranged", runId);
    await until(async () => ((await runs.view("ranged", days[2]!)).cells["a"] === "running" ? true : null));
    await save("ranged", `task("a", () => "mended"); task("b", () => "new");`);
    const expected = [
      [2, null],
      [2, null],
      [0, "run_open"],
    ];
    expect(await ranged({ onlyFailed: true, dryRun: true })).toEqual(expected);
    expect(await ranged({ onlyFailed: true })).toEqual(expected);
    for (const runId of days.slice(0, 2))
      expect(await runs.ended("ranged", runId)).toMatchObject({
        state: "success",
        outputs: { a: "mended", b: "new" },
      });
    const shown = await get(app, `/dags/ranged/runs/${days[0]!}`, RunDetail);
    expect(shown.version).toBe(2);
    const { rows } = await product.pool.query(
      "select (detail ->> 'version')::bigint::float8 as version from app.audit where dag_id = 'ranged' and action = 'clear' order by run_id",
    );
    expect(rows).toEqual([{ version: await versionOf("ranged") }, { version: await versionOf("ranged") }]);
    await runs.fail("ranged", days[2]!);
    await runs.ended("ranged", days[2]!);
  });

  it("B2 D6: a long run goes on in new executions with the version that it has now", async () => {
    const chain = (length: number, text: string): string =>
      `let before = task("t0", () => 0);
       for (let i = 1; i < ${length}; i++) before = task("t" + i, { after: [before] }, () => ${text});`;
    await save("long", `${chain(3, "1")} task("gone", () => 1);`);
    const runId = await runs.begin("long");
    await runs.ended("long", runId);
    await save("long", chain(40, "2"));
    await clear("long", runId, ["t2"], await versionOf("long"));
    const ended = await runs.ended("long", runId);
    expect(ended).toMatchObject({
      state: "success",
      cells: { gone: "removed" },
      outputs: { t1: 1, t2: 2, t39: 2 },
    });
    expect((await executionsOf(product, "long", runId)).length).toBeGreaterThan(1);
  });
});
