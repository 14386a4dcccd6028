import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startProduct, until, type Product } from "../support/product.ts";

let product: Product;
beforeAll(async () => {
  product = await startProduct();
}, 60_000);
afterAll(async () => await product.stop());

/** A DAG due each hour, whose first task ends when the file `flag` is there. */
const hourly = (id: string, flag: string, says: string): string => `
  import { existsSync } from "node:fs";
  dag("${id}", { schedule: "@hourly", startDate: "2026-05-04" }, () => {
    const first = task("first", async () => {
      while (!existsSync(${JSON.stringify(flag)})) await new Promise((done) => setTimeout(done, 50));
      return "${says}";
    });
    task("second", { inputs: { first } }, ({ inputs }) => inputs.first + ", ${says}");
  });`;

test(
  "K63: a DAG renamed in place: its run ends with its version, no further one is made, its history stays",
  { timeout: 90_000 },
  async () => {
    const [a, b] = [`a_${randomUUID().slice(0, 8)}`, `b_${randomUUID().slice(0, 8)}`];
    const flag = join(product.env["MERIDIAN_HOME"]!, "flag");
    product.at = Date.parse("2026-05-04T00:30:00Z");
    await product.save("x.ts", hourly(a, flag, "as it began"));
    await product.createDue([a]);
    product.at = Date.parse("2026-05-04T01:00:00Z");
    expect(await product.createDue()).toBe(1);
    const [run] = await product.runs(a);
    await until(async () =>
      (await product.run(a, run!.run_id)).cells["first"] === "running" ? true : undefined,
    );

    await product.save("x.ts", hourly(b, flag, "renamed"));
    await product.createDue([b]);
    product.at = Date.parse("2026-05-04T03:00:00Z");
    // As the clock would, and as whoever asks for "a" by name.
    expect(await product.createDue()).toBe(1);
    expect(await product.createDue([a])).toBe(0);
    writeFileSync(flag, "");
    const ended = await product.ended(a, run!.run_id);
    expect(ended).toMatchObject({ state: "success", cells: { first: "success", second: "success" } });
    expect(ended.tries.find((one) => one.task_id === "second")!.output).toBe("as it began, as it began");
    expect((await product.runs(a)).map((one) => one.run_id)).toEqual([run!.run_id]);
    const [other] = await product.runs(b);
    await product.ended(b, other!.run_id);
    const { rows } = await product.pool.query(
      `select d.active, v.number, v.dag_id from app.dag_run r join app.dag d using (dag_id)
         join app.dag_version v on v.version = r.version where r.dag_id = $1`,
      [a],
    );
    expect(rows).toEqual([{ active: false, number: 1, dag_id: a }]);
  },
);
