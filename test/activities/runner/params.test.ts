import { describe, expect, it } from "vitest";
import { common, ran } from "./support.ts";

const CODE = `import { dag, task, taskGroup } from "meridian";
import { z } from "zod";
const params = z.object({ region: z.enum(["eu", "us"]).default("eu"), day: z.iso.date().optional() });
dag("tests", { schedule: null, zone: "Europe/Berlin", params }, ({ task, taskGroup }) => {
  taskGroup("load", () => {
    task("rows", { templates: { path: "s3://{{ params.region }}/{{ ds }}/{{ task_id }}/{{ try_number }}" } }, (context) => [
      context.params, context.templates, context.conf,
    ]);
    task("day", { templates: { day: "{{ params.day }}" } }, ({ templates }) => templates.day);
  });
});
`;

describe("A2 A12: bodies in their threads", () => {
  for (const isolation of ["shared", "own"] as const) {
    it(`see params read by the schema and templates rendered for the try (${isolation})`, async () => {
      const { outcome } = await ran(common(), CODE, "load.rows", {
        isolation,
        context: { conf: { region: "us" }, try: 2, ds: "2026-05-09" },
      });
      expect(outcome).toEqual({
        kind: "success",
        output: [{ region: "us" }, { path: "s3://us/2026-05-09/load.rows/2" }, { region: "us" }],
      });
    });
  }

  it("fail for good, with path and expectation, before the body is called", async () => {
    const bad = await ran(common(), CODE, "load.rows", { context: { conf: { region: "de" } } });
    expect(bad.outcome).toMatchObject({
      kind: "failed",
      error: {
        code: "bad_params",
        retryable: false,
        message: expect.stringContaining('region: Invalid option: expected one of "eu"|"us"'),
      },
    });
    const unset = await ran(common(), CODE, "load.day", {});
    expect(unset.outcome).toMatchObject({
      kind: "failed",
      error: {
        code: "template_unset",
        retryable: false,
        message: expect.stringContaining("params.day is not set"),
      },
    });
  });
});
