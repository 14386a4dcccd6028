import type { OpenAPIHono } from "@hono/zod-openapi";
import { Problem } from "./contracts.ts";
import type { ApiEnv } from "./deps.ts";
import { PROBLEM_TYPE } from "./errors.ts";
import { KEY_HEADER } from "./idempotency.ts";

type Document = ReturnType<OpenAPIHono<ApiEnv>["getOpenAPI31Document"]>;

/**
 * The OpenAPI 3.1 document of the routes. What all of them share is said here once, so that a typed client's answers
 * stay the good ones: every operation may answer with a problem, and every POST takes an idempotency key.
 */
export function describeApi(app: OpenAPIHono<ApiEnv>, version: string): Document {
  app.openAPIRegistry.register("Problem", Problem);
  const document = app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Meridian",
      version,
      description: "Lists page by key: pass the key a list ends with. Instants are ISO 8601 in UTC.",
    },
  });
  const problems = {
    description: "Refused, not found, in conflict, or away: match on `code`",
    content: { [PROBLEM_TYPE]: { schema: { $ref: "#/components/schemas/Problem" } } },
  };
  const key = {
    name: KEY_HEADER,
    in: "header" as const,
    description: "The same key gets the same answer",
    schema: { type: "string" as const, minLength: 1, maxLength: 200 },
  };
  const grid = document.paths?.["/api/v1/dags/{dagId}/grid"]?.get;
  if (grid?.responses) grid.responses["304"] = { description: "Nothing changed since the ETag given" };
  for (const path of Object.values(document.paths ?? {})) {
    for (const operation of [path.get, path.post, path.delete]) {
      if (operation?.responses) operation.responses["default"] = problems;
    }
    for (const operation of [path.post, path.delete]) {
      if (operation) operation.parameters = [...(operation.parameters ?? []), key];
    }
  }
  return document;
}
