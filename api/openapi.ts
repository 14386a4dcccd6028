import type { OpenAPIHono } from "@hono/zod-openapi";
import { Problem } from "./contracts.ts";
import type { ApiEnv } from "./deps.ts";
import { PROBLEM_TYPE } from "./errors.ts";
import { KEY_HEADER } from "./idempotency.ts";
import { USER_HEADER } from "./who.ts";

type Document = ReturnType<OpenAPIHono<ApiEnv>["getOpenAPI31Document"]>;

/**
 * The OpenAPI 3.1 document of the routes. What all of them share is said here once, so that a typed client's answers
 * stay the good ones: every operation may answer with a problem, and every change takes an idempotency key.
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
  const user = {
    name: USER_HEADER,
    in: "header" as const,
    description: "Who asks, by their own word, percent-encoded: shown beside the change, gives no rights",
    schema: { type: "string" as const, example: "anna%40ci" },
  };
  const grid = document.paths?.["/api/v1/dags/{dagId}/grid"]?.get;
  if (grid?.responses) grid.responses["304"] = { description: "Nothing changed since the ETag given" };
  for (const [route, path] of Object.entries(document.paths ?? {})) {
    for (const method of METHODS) {
      const operation = path[method];
      if (operation) Object.assign(operation, { operationId: nameOf(method, route), tags: [tagOf(route)] });
    }
    for (const operation of METHODS.map((method) => path[method])) {
      if (operation?.responses) operation.responses["default"] = problems;
    }
    for (const operation of [path.post, path.put, path.delete]) {
      if (operation) operation.parameters = [...(operation.parameters ?? []), key, user];
    }
  }
  return document;
}

const METHODS = ["get", "post", "put", "delete"] as const;

const parts = (route: string): string[] => route.split("/").slice(3);
const big = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** `get /api/v1/dags/{dagId}/next-runs` → `getDagsByDagIdNextRuns` */
const nameOf = (method: string, route: string): string =>
  method +
  parts(route)
    .map((part) => (part.startsWith("{") ? `By${big(part.slice(1, -1))}` : part.split("-").map(big).join("")))
    .join("");

/** The noun that a route is about: `tries` of `…/runs/{runId}/tasks/{taskId}/tries/{try}/log`. */
const NOUNS = ["tries", "versions", "grid", "runs", "dags"];
const tagOf = (route: string): string => {
  const names = parts(route).filter((part) => !part.startsWith("{"));
  return NOUNS.find((noun) => names.includes(noun)) ?? names[0]!;
};

/** The methods that an address takes, as far as it is one of the API. */
export function methodsOf(document: Document, path: string): string[] {
  const found = Object.entries(document.paths ?? {}).find(([route]) =>
    new RegExp(`^${route.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path),
  );
  return found === undefined ? [] : METHODS.filter((method) => found[1][method]).map((m) => m.toUpperCase());
}
