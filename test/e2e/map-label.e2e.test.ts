import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { appOf } from "../support/app.ts";
import { dagFile, Runs } from "../support/named-runs.ts";
import { startProduct, until, type Product } from "../support/product.ts";

const SECRET = "postgres://shop:tr0ub4dor@db/shop";

let product: Product;
let runs: Runs;
let app: ReturnType<typeof appOf>;
beforeAll(async () => {
  product = await startProduct({ env: { MERIDIAN_CONN_SHOP: SECRET } });
  runs = new Runs(product);
  app = appOf(product, { publicUrl: "http://127.0.0.1:8080" });
});
afterAll(async () => await product.stop());

interface Named {
  readonly taskId: string;
  readonly mapIndex: number;
  readonly mapLabel?: string;
}

async function get<T>(path: string): Promise<T> {
  const answer = await app.request(`/api/v1/dags/${path}`);
  expect(answer.status).toBe(200);
  return (await answer.json()) as T;
}

/** Of the cells of one task, by index. */
async function labels(dagId: string, runId: string, taskId: string): Promise<(string | undefined)[]> {
  const { cells } = await get<{ cells: Named[] }>(`${dagId}/runs/${runId}`);
  return cells
    .filter((cell) => cell.taskId === taskId && cell.mapIndex >= 0)
    .sort((a, b) => a.mapIndex - b.mapIndex)
    .map(({ mapLabel }) => mapLabel);
}

const logOf = async (dagId: string, runId: string, taskId: string, mapIndex: number): Promise<string> =>
  (await product.logs.read({ dagId, runId, taskId, mapIndex, try: 1 }, 0)).lines
    .map(({ text }) => text)
    .join("\n");

describe("A7: labels of instances on real servers", () => {
  it("A7: in the cells, whatever place the body runs in and however large its list; a secret is masked", async () => {
    await product.save(
      "labels.ts",
      dagFile(
        "label_kinds",
        `const cities = task("cities", () => ["berlin", "paris", "rome"].map((name) => ({ name })));
         const large = task("large", () => ["x", "y"].map((name) => ({ name, text: name.repeat(100_000) })));
         task("plain", { expand: { city: cities }, mapLabel: "{{ city.name }} {{ conf.tag }}" }, () => null);
         task("own", { expand: { city: cities }, isolation: "own", mapLabel: "{{ city.name }}" }, () => null);
         task("big", { expand: { row: large }, mapLabel: "{{ row.name }}" }, () => null);
         task("some", { expand: { row: cities }, batch: 2, mapLabel: "from {{ row[0].name }}" }, () => null);
         sensor("seen", { expand: { city: cities }, mapLabel: "{{ city.name }}" }, () => true);
         task("fails", { expand: { city: cities }, mapLabel: "{{ city.name }}" }, () => fail("as wanted"));
         task("none", { expand: { city: cities } }, () => null);
         task("secret", { expand: { url: ["${SECRET}"] }, mapLabel: "at {{ url }}" }, () => null);`,
      ),
    );
    const runId = await runs.begin("label_kinds", { tag: "t" });
    await runs.ended("label_kinds", runId);
    const all = await Promise.all(
      ["plain", "own", "big", "some", "seen", "fails", "none", "secret"].map(
        async (taskId) => await labels("label_kinds", runId, taskId),
      ),
    );
    expect(all).toEqual([
      ["berlin t", "paris t", "rome t"],
      ["berlin", "paris", "rome"],
      ["x", "y"],
      ["from berlin", "from rome"],
      ["berlin", "paris", "rome"],
      ["berlin", "paris", "rome"],
      [undefined, undefined, undefined],
      ["at ***"],
    ]);
    const tries = await get<Named>(`label_kinds/runs/${runId}/tasks/fails/tries?mapIndex=1`);
    expect([tries.taskId, tries.mapIndex, tries.mapLabel]).toEqual(["fails", 1, "paris"]);
    const list = await get<{ runs: { tasks: { firstFailed: Named } }[] }>("label_kinds/runs?tasks=true");
    expect(list.runs[0]!.tasks.firstFailed.mapLabel).toMatch(/^(berlin|paris|rome)$/);
  });

  it("A7: while the body runs; and in a mapped group at tasks and waits that do not get the item", async () => {
    await product.save(
      "group.ts",
      dagFile(
        "label_group",
        `const cities = task("cities", () => ["berlin", "paris"]);
         taskGroup("each", { expand: { city: cities }, mapLabel: "{{ city }}" }, ({ city }) => {
           const fetched = task("fetch", { inputs: { city } }, ({ inputs }) => inputs.city.length);
           const approved = waitFor("approved", { after: [fetched] });
           task("store", { inputs: { fetched }, after: [approved] }, async ({ signal }) => {
             await new Promise((done) => { signal.addEventListener("abort", done); });
           });
         });
         waitFor("ask", { expand: { town: ["oslo", "bonn"] }, mapLabel: "{{ town }}" });`,
      ),
    );
    const runId = await runs.begin("label_group");
    const inState = async (name: string, state: string): Promise<void> =>
      void (await until(
        async () => ((await runs.view("label_group", runId)).cells[name] === state ? true : null),
        20_000,
        `${name} ${state}`,
      ));
    for (const index of [0, 1]) {
      await inState(`each.approved[${index}]`, "deferred");
      await inState(`ask[${index}]`, "deferred");
    }
    const waits = await app.request("/api/v1/waits?dagId=label_group");
    const named = ((await waits.json()) as { waits: Named[] }).waits;
    expect(named.map(({ taskId, mapIndex, mapLabel }) => [taskId, mapIndex, mapLabel])).toEqual([
      ["ask", 0, "oslo"],
      ["ask", 1, "bonn"],
      ["each.approved", 0, "berlin"],
      ["each.approved", 1, "paris"],
    ]);
    for (const mapIndex of [0, 1]) {
      const place = { dagId: "label_group", runId, taskId: "each.approved", mapIndex };
      await product.client.endWait({ at: place, payload: null, who: "test" });
    }
    // Their bodies do not end: the label comes without an end.
    await until(
      async () =>
        (await labels("label_group", runId, "each.store")).join() === "berlin,paris" ? true : null,
      20_000,
      "labels of what runs",
    );
    expect((await runs.view("label_group", runId)).cells["each.store[1]"]).toBe("running");
    await runs.fail("label_group", runId);
  });

  it("A7: one that cannot be rendered fails no try, and the log says why; a rerun with another list has the new ones", async () => {
    await product.save(
      "again.ts",
      dagFile(
        "label_again",
        `const cities = task("cities", ({ tryNumber }) => (tryNumber === 1 ? [{ name: "berlin" }, {}] : [{ name: "oslo" }, { name: "bonn" }]));
         task("load", { expand: { city: cities }, mapLabel: "{{ city.name }}" }, () => null);`,
      ),
    );
    const runId = await runs.begin("label_again");
    const first = await runs.ended("label_again", runId);
    expect(first.state).toBe("success");
    expect(await labels("label_again", runId, "load")).toEqual(["berlin", undefined]);
    expect(await logOf("label_again", runId, "load", 1)).toContain(
      'this instance goes without a label: template "mapLabel": the item of this instance has no city.name',
    );
    await runs.clear("label_again", runId, ["cities"], true);
    await until(
      async () => ((await runs.view("label_again", runId)).tries["load[1]"] === 2 ? true : null),
      20_000,
      "the second try",
    );
    expect((await runs.ended("label_again", runId)).state).toBe("success");
    expect(await labels("label_again", runId, "load")).toEqual(["oslo", "bonn"]);
  });
});
