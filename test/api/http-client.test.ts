import { expect, expectTypeOf, test } from "vitest";
import type { DagList, Grid, TriggeredRun } from "../../api/contracts.ts";
import { createHttpClient } from "../../api/http-client.ts";
import { MeridianError } from "../../core/errors.ts";
import { testApp } from "./support.ts";

const app = testApp();
const through = ((input: string | URL | Request, init?: RequestInit) =>
  app.request(input as string, init)) as typeof fetch;
const api = createHttpClient("http://localhost:8080", through);

const caught = async (work: Promise<unknown>): Promise<MeridianError> => {
  const error = await work.then(
    () => null,
    (e: unknown) => e,
  );
  if (!(error instanceof MeridianError)) throw new Error("expected a MeridianError", { cause: error });
  return error;
};

test("answers come typed", async () => {
  const logicalDate = "2026-05-09T00:00:00+02:00";
  const response = await api.dags[":dagId"].runs.$post({ param: { dagId: "sales" }, json: { logicalDate } });
  const run = await response.json();
  expectTypeOf(run).toEqualTypeOf<TriggeredRun>();
  expect(run).toEqual({
    dagId: "sales",
    runId: "2026-05-08T22-00-00Z",
    state: "running",
    workflowId: "run.sales.2026-05-08T22-00-00Z",
    temporalUrl: "http://localhost:8233/namespaces/default/workflows/run.sales.2026-05-08T22-00-00Z",
  });
  type Answer<F extends (...args: never[]) => Promise<{ json(): Promise<unknown> }>> = Awaited<
    ReturnType<Awaited<ReturnType<F>>["json"]>
  >;
  expectTypeOf<Answer<typeof api.dags.$get>>().toEqualTypeOf<DagList>();
  expectTypeOf<Answer<(typeof api.dags)[":dagId"]["grid"]["$get"]>>().toEqualTypeOf<Grid>();
});

test("a problem is thrown as the error it was", async () => {
  const trigger = () =>
    api.dags[":dagId"].runs.$post({
      param: { dagId: "sales" },
      json: { logicalDate: "2026-05-01T00:00:00Z" },
    });
  await trigger();
  expect(await caught(trigger())).toMatchObject({
    name: "Conflict",
    kind: "conflict",
    code: "run_exists",
    details: { runId: "2026-05-01T00-00-00Z" },
  });
  expect(await caught(api.dags[":dagId"].unpause.$post({ param: { dagId: "nowhere" } }))).toMatchObject({
    kind: "not_found",
    code: "no_dag",
  });
  expect(await caught(api.runs.$get({ query: { limit: "0" } }))).toMatchObject({
    kind: "refused",
    code: "bad_request",
  });
});

test("no server, or another one, is one clear line", async () => {
  const nobody = createHttpClient("http://127.0.0.1:9", () =>
    Promise.reject(new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") })),
  );
  expect(await caught(nobody.pools.$get())).toMatchObject({
    kind: "retryable",
    code: "api_away",
    message: "cannot reach the API at http://127.0.0.1:9: connect ECONNREFUSED",
  });
  const other = createHttpClient("http://other", () =>
    Promise.resolve(new Response("<h1>hi</h1>", { status: 404 })),
  );
  expect(await caught(other.pools.$get())).toMatchObject({ kind: "not_found", code: "not_the_api" });
});
