import { z } from "@hono/zod-openapi";
import { expect, it } from "vitest";
import { inWords } from "../../api/issue-words.ts";
import { newRoutes, RunQuery, TriggerBody } from "../../api/requests.ts";

const said = (schema: z.ZodType, value: unknown): string[] =>
  schema.safeParse(value).error!.issues.map(inWords);

it("C1: a request that does not fit is told so in plain words, not in those of the schema library", () => {
  expect(said(RunQuery, { state: "queud" })).toEqual([
    "expected queued, running, success, failed or cancelled",
  ]);
  expect(said(RunQuery, { sort: "nonsense" })).toEqual(["expected date or -date"]);
  expect(said(RunQuery, { search: "x".repeat(201) })).toEqual(["expected at most 200 characters"]);
  expect(said(RunQuery, { sate: "queued" })).toEqual(['there is no "sate" here']);
  expect(said(TriggerBody, [])).toEqual(["expected an object"]);
  expect(said(TriggerBody, { conf: 1 })).toEqual(["expected an object"]);
  expect(said(z.object({ slots: z.int().min(0) }), {})).toEqual(["missing: expected a number"]);
  expect(said(RunQuery, { limit: "-1" }), "words of our own stay").toEqual([
    "expected a whole number from 1 to 1000",
  ]);
});

it("C1: routes use these words", async () => {
  const routes = newRoutes();
  expect(routes).toBeDefined();
  const { createRoute } = await import("@hono/zod-openapi");
  const route = createRoute({
    method: "get",
    path: "/x",
    request: { query: RunQuery },
    responses: { 200: { description: "fine" } },
  });
  let message = "";
  routes.onError((error, c) => {
    message = error.message;
    return c.text("", 400);
  });
  routes.openapi(route, (c) => c.text("") as never);
  await routes.request("/x?state=queud");
  expect(message).toBe("state: expected queued, running, success, failed or cancelled");
});
