import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, test } from "vitest";
import { testApp } from "./support.ts";

interface Operation {
  parameters?: { name: string; in: string; required?: boolean; schema: unknown }[];
  responses: Record<string, unknown>;
  summary?: string;
  operationId?: string;
  tags?: string[];
}
type Document = {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, unknown> };
};

const document = (await (await testApp().request("/api/openapi.json")).json()) as Document;
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
);

test("C1: the paths of the API", () => {
  const list = operations.map(({ path, method, operation }) => {
    const query = (operation.parameters ?? []).filter((p) => p.in === "query").map((p) => p.name);
    const answers = Object.keys(operation.responses).join(" ");
    return `${method} ${path}${query.length === 0 ? "" : ` ?${query.join("&")}`} → ${answers}`;
  });
  expect(list).toMatchInlineSnapshot(`
    [
      "get /api/v1/health → 200 503 default",
      "get /api/v1/dags ?search&tag&tagMatch&owner&state&paused&active&importError&sort&limit&after → 200 default",
      "get /api/v1/dag-facets → 200 default",
      "get /api/v1/dags/{dagId}/next-runs ?count → 200 default",
      "get /api/v1/dags/{dagId} → 200 default",
      "post /api/v1/dags/{dagId}/pause → 200 default",
      "post /api/v1/dags/{dagId}/unpause → 200 default",
      "get /api/v1/dags/{dagId}/grid ?runs&before → 200 304 default",
      "get /api/v1/runs ?state&type&search&from&until&startedFrom&startedUntil&tasks&sort&limit&before → 200 default",
      "get /api/v1/dags/{dagId}/runs ?state&type&search&from&until&startedFrom&startedUntil&tasks&sort&limit&before → 200 default",
      "post /api/v1/dags/{dagId}/runs → 201 default",
      "get /api/v1/dags/{dagId}/runs/{runId} → 200 default",
      "post /api/v1/dags/{dagId}/runs/{runId}/clear → 200 default",
      "post /api/v1/dags/{dagId}/clear → 200 default",
      "post /api/v1/dags/{dagId}/runs/{runId}/mark → 200 default",
      "post /api/v1/dags/{dagId}/runs/{runId}/end → 200 default",
      "post /api/v1/dags/{dagId}/runs/{runId}/priority → 200 default",
      "get /api/v1/waits ?limit&after&dagId&taskId&kind&search → 200 default",
      "get /api/v1/dags/{dagId}/runs/{runId}/waits ?limit&after → 200 default",
      "post /api/v1/waits/{token} → 200 default",
      "post /api/v1/dags/{dagId}/runs/{runId}/waits/{taskId} ?mapIndex → 200 default",
      "post /api/v1/dags/{dagId}/runs/{runId}/waits/{taskId}/poke ?mapIndex → 200 default",
      "get /api/v1/dags/{dagId}/runs/{runId}/tasks/{taskId}/tries ?mapIndex → 200 default",
      "get /api/v1/dags/{dagId}/runs/{runId}/tasks/{taskId}/tries/{try}/log ?mapIndex&offset → 200 default",
      "get /api/v1/dags/{dagId}/runs/{runId}/tasks/{taskId}/tries/{try}/output ?mapIndex → 200 default",
      "get /api/v1/dags/{dagId}/runs/{runId}/tasks/{taskId}/tries/{try}/log/stream ?mapIndex&offset → 200 default",
      "get /api/v1/events ?dag → 200 default",
      "get /api/v1/pools → 200 default",
      "post /api/v1/pools/{name} → 200 201 default",
      "delete /api/v1/pools/{name} → 204 default",
      "get /api/v1/pools/{name}/history ?minutes → 200 default",
      "get /api/v1/pools/{name}/work → 200 default",
      "get /api/v1/limits → 200 default",
      "put /api/v1/limits → 200 default",
      "post /api/v1/limits/plan → 200 default",
      "get /api/v1/tenants → 200 default",
      "get /api/v1/dial → 200 default",
      "put /api/v1/dial → 200 default",
      "delete /api/v1/dial → 200 default",
      "get /api/v1/dial/preview ?tries&belowClass&belowPriority → 200 default",
      "post /api/v1/dial/undo → 200 default",
      "get /api/v1/import-errors → 200 default",
      "get /api/v1/files ?search&withError&limit&after → 200 default",
      "get /api/v1/files/{file} → 200 default",
      "get /api/v1/dags/{dagId}/versions ?limit&before → 200 default",
      "get /api/v1/dags/{dagId}/versions/{number} → 200 default",
      "get /api/v1/dags/{dagId}/versions/{from}/diff/{to} → 200 default",
    ]
  `);
});

test("it is OpenAPI 3.1, and every reference in it leads somewhere", () => {
  expect(document.openapi).toBe("3.1.0");
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map((m) => m[1]!);
  expect(references.length).toBeGreaterThan(30);
  for (const reference of references) {
    const name = /^#\/components\/schemas\/(\w+)$/.exec(reference)?.[1];
    expect(document.components.schemas, reference).toHaveProperty(name!);
  }
});

test("F5: a validator of OpenAPI finds nothing to say, and can", async () => {
  expect(await new Validator().validate(structuredClone(document))).toEqual({ valid: true });
  const broken = structuredClone(document) as unknown as { paths: Record<string, unknown> };
  broken.paths["/api/v1/health"] = { get: { responses: "none" } };
  expect((await new Validator().validate(broken)).valid).toBe(false);
});

test("F5: each operation has an id and a tag of its own, for clients that are made from it", () => {
  const ids = operations.map(({ operation }) => operation.operationId);
  expect(ids).not.toContain(undefined);
  expect(new Set(ids).size).toBe(ids.length);
  expect(operations.filter(({ operation }) => operation.tags?.length !== 1)).toEqual([]);
});

test("every operation says what it does, its path parts and its errors", () => {
  for (const { path, operation } of operations) {
    expect(operation.summary).toBeTruthy();
    const parts = [...path.matchAll(/\{(\w+)\}/g)].map((m) => m[1]);
    const told = (operation.parameters ?? []).filter((p) => p.in === "path");
    expect(told.map((p) => p.name)).toEqual(parts);
    expect(told.every((p) => p.required === true && p.schema !== undefined)).toBe(true);
    expect(operation.responses).toHaveProperty("default");
  }
});
