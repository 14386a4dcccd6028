import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startProduct, type Product } from "../support/product.ts";

let product: Product;
beforeAll(async () => {
  product = await startProduct();
  await product.save(
    "sales.ts",
    `import { z } from "zod";
    const params = z.object({
      region: z.enum(["eu", "us"]).default("eu"),
      day: z.iso.date().optional().transform((text) => (text === undefined ? null : new Date(text))),
    });
    dag("e2e_sales", { schedule: "@daily", startDate: "2026-05-01", zone: "Europe/Berlin", params }, ({ task, taskGroup }) => {
      const open = task("open", () => "open");
      const load = taskGroup("load", () => {
        const rows = task("rows", { templates: { path: "{{ params.region }}/{{ ds }}" } }, ({ params, templates }) => [
          templates.path, params.day === null ? null : params.day.getUTCFullYear(),
        ]);
        taskGroup("check", () => void task("count", { inputs: { rows } }, ({ inputs }) => inputs.rows.length));
        return { rows };
      });
      load.after(open);
      task("report", { inputs: { rows: load.returned.rows }, after: [load] }, ({ inputs }) => inputs.rows);
    });`,
  );
});
afterAll(async () => await product.stop());

const trigger = async (logicalDate: string, conf: Record<string, unknown>) =>
  await product.client.trigger({ dagId: "e2e_sales", logicalAt: Date.parse(logicalDate), conf, who: "test" });

describe("A1 A2 A12: groups, params and templates on real servers", () => {
  it("a run by hand: params reach the bodies, the group's tasks run in its order", async () => {
    const { runId } = await trigger("2026-05-08T22:00:00Z", { region: "us", day: "2025-12-24" });
    const run = await product.ended("e2e_sales", runId);
    expect(run.cells).toEqual({
      open: "success",
      "load.rows": "success",
      "load.check.count": "success",
      report: "success",
    });
    expect(run.tries.find((one) => one.task_id === "report")!.output).toEqual(["us/2026-05-09", 2025]);
  });

  it("a run by schedule has the defaults", async () => {
    product.at = Date.parse("2026-05-10T22:00:01Z");
    await product.createDue(["e2e_sales"]);
    const [scheduled] = (await product.runs("e2e_sales")).filter((run) => run.run_type === "scheduled");
    const run = await product.ended("e2e_sales", scheduled!.run_id);
    expect(run.state).toBe("success");
    expect(run.tries.find((one) => one.task_id === "report")!.output).toEqual(["eu/2026-05-10", null]);
  });

  it("what does not fit makes no run", async () => {
    const before = await product.runs("e2e_sales");
    await expect(trigger("2026-05-02T22:00:00Z", { region: "de" })).rejects.toMatchObject({
      code: "bad_params",
      details: { errors: [{ path: "region", message: 'Invalid option: expected one of "eu"|"us"' }] },
    });
    expect(await product.runs("e2e_sales")).toEqual(before);
  });
});
