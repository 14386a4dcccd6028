import { expect, test } from "vitest";
import { useRig } from "./rig.ts";

const rig = useRig();

const text = (keys: "in order" | "reversed") => {
  const options = ['schedule: "@daily"', 'owner: "ann"', "tags", 'defaults: { retries: 2, pool: "p" }'];
  return `
    import { dag, task } from "meridian";
    class Amount { constructor(readonly of: number) {} }
    const amount = new Amount(3);
    const tags = [...new Set(["b", "a", "b"])];
    dag("x", { ${(keys === "in order" ? options : options.toReversed()).join(", ")} }, () => {
      const first = task("first", () => amount.of);
      task("second", { inputs: { first } }, ({ inputs }) => inputs.first + 1);
    });`;
};

test(
  "K62: one unchanged file parsed 20 times in 20 processes: one version, one write",
  { timeout: 60_000 },
  async () => {
    rig.place.write("x.ts", text("in order"));
    await rig.processor().pass();
    const all = async () =>
      (
        await rig.pool.query(
          "select d.*, d.xmin as dag_xmin, v.version, v.xmin from app.dag d join app.dag_version v using (dag_id)",
        )
      ).rows;
    const before = await all();
    const p = rig.processor({ limits: { filesPerChild: 1 } });
    const twenty = rig.processor({ limits: { filesPerChild: 1 } });
    for (let i = 0; i < 20; i++) {
      // As if it had never been read: it is imported again.
      await rig.pool.query("update app.dag_file set content_hash = null");
      rig.place.write("x.ts", text("in order"));
      expect(await (i % 2 === 0 ? p : twenty).pass()).toMatchObject({ stored: 1 });
    }
    expect(await all()).toEqual(before);
  },
);

test("K62: the order of keys in the options is no change of the graph", async () => {
  rig.place.write("x.ts", text("in order"));
  const p = rig.processor();
  await p.pass();
  rig.place.write("x.ts", text("reversed"));
  await p.pass();
  // The code did change, so this is a version; its graph is the same.
  const { rows } = await rig.pool.query("select distinct graph::text from app.dag_version");
  expect(rows).toHaveLength(1);
});
