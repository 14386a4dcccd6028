import { describe, expect, expectTypeOf, test } from "vitest";
import type { DagList, Grid, TriggeredRun } from "../../api/contracts.ts";
import { MeridianError } from "../../core/errors.ts";
import { ApiError, createClient } from "../../remote/index.ts";
import { fakeClient, testApp } from "../api/support.ts";

const { client: triggers, calls } = fakeClient();
const app = testApp({ client: triggers });
const url = "http://localhost:8080";
/** No key goes through: keys need a database, and have their own test (trigger.pg.test.ts). */
const through = ((input: string | URL | Request, init: RequestInit = {}) => {
  const headers = new Headers(init.headers);
  headers.delete("idempotency-key");
  return app.request(input as string, { ...init, headers });
}) as typeof fetch;
const api = createClient({ url, fetch: through });

const caught = async (work: Promise<unknown>): Promise<ApiError> => {
  const error = await work.then(
    () => null,
    (e: unknown) => e,
  );
  if (!(error instanceof ApiError)) throw new Error("expected an ApiError", { cause: error });
  return error;
};

/** Answers one after the other; remembers what was asked. */
function answering(...answers: (Response | Error)[]) {
  const asked: { url: string; method: string; headers: Headers; body: unknown }[] = [];
  const fetcher = ((input: string, init: RequestInit = {}) => {
    asked.push({
      url: input,
      method: init.method ?? "GET",
      headers: new Headers(init.headers),
      body: init.body,
    });
    const answer = answers.length > 1 ? answers.shift()! : answers[0]!;
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer.clone());
  }) as unknown as typeof fetch;
  return { asked, fetcher };
}
const problem = (status: number, code: string, headers: Record<string, string> = {}) =>
  new Response(
    JSON.stringify({ type: "about:blank", title: "x", status, code, detail: `it is ${code}`, details: {} }),
    {
      status,
      headers: { "content-type": "application/problem+json", ...headers },
    },
  );

describe("F5: the typed client", () => {
  test("an answer that did not change costs a 304 and is the same object, where it is remembered", async () => {
    const grid = (text: string, etag: string) => new Response(text, { headers: { etag } });
    const same = () => new Response(null, { status: 304 });
    const { asked, fetcher } = answering(
      grid('{"dagId":"a"}', '"1"'),
      same(),
      grid('{"dagId":"a","version":2}', '"2"'),
      grid('{"dagId":"b"}', '"3"'),
      grid('{"dagId":"a"}', '"1"'),
    );
    const polling = createClient({ url, fetch: fetcher, remember: 1 });
    const first = await polling.dags.grid("a", { runs: 5 });
    expect(await polling.dags.grid("a", { runs: 5 })).toBe(first);
    expect(await polling.dags.grid("a", { runs: 5 })).toMatchObject({ version: 2 });
    await polling.dags.grid("b", { runs: 5 });
    await polling.dags.grid("a", { runs: 5 });
    expect(asked.map(({ headers }) => headers.get("if-none-match"))).toEqual([
      null,
      '"1"',
      '"1"',
      null,
      // Only one is kept, and that was b's.
      null,
    ]);
  });

  test.each([
    ["the last that succeeded, of an output", "output", ["failed", "success", "lost", "running"], 2],
    [
      "the last, of an output, when none did: the API says what became of it",
      "output",
      ["lost", "failed"],
      2,
    ],
    ["the last, of a log", "log", ["success", "lost", "running"], 3],
    ["the first where there is none: the API says so", "log", [], 1],
  ] as const)("A5: a try that is left out is %s", async (_case, call, states, expected) => {
    const tries = states.map((state, i) => ({ try: i + 1, state }));
    const { asked, fetcher } = answering(new Response(JSON.stringify({ tries })), new Response("{}"));
    const of = { dagId: "a", runId: "r", taskId: "t", mapIndex: 3 };
    await createClient({ url, fetch: fetcher }).tasks[call](of);
    expect(asked.map((one) => one.url.replace(`${url}/api/v1/dags/a/runs/r/tasks/t`, ""))).toEqual([
      "/tries?mapIndex=3",
      `/tries/${expected}/${call}?mapIndex=3${call === "log" ? "&offset=0" : ""}`,
    ]);
  });

  test("one page of a list is read by its key", async () => {
    const { asked, fetcher } = answering(new Response(JSON.stringify({ dags: [], total: 0, after: null })));
    await createClient({ url, fetch: fetcher }).dags.list({ limit: 2 }).page("b");
    expect(asked[0]!.url).toBe(`${url}/api/v1/dags?limit=2&after=b`);
  });

  test("a good answer that is no JSON comes from another server", async () => {
    const { asked, fetcher } = answering(new Response("<html>"));
    const error = await caught(createClient({ url, fetch: fetcher }).pools.list());
    expect(error).toMatchObject({ code: "not_the_api", status: 200 });
    expect(asked).toHaveLength(1);
  });

  test("answers come typed", async () => {
    const run = await api.trigger("sales", { a: 1 }, { logicalDate: "2026-05-09T00:00:00+02:00" });
    expectTypeOf(run).toEqualTypeOf<TriggeredRun>();
    expect(run).toEqual({
      dagId: "sales",
      runId: "2026-05-08T22-00-00Z",
      state: "running",
      workflowId: "run.sales.2026-05-08T22-00-00Z",
      temporalUrl: "http://localhost:8233/namespaces/default/workflows/run.sales.2026-05-08T22-00-00Z",
    });
    expect(calls.at(-1)![1]).toMatchObject({ dagId: "sales", conf: { a: 1 } });
    expectTypeOf<Awaited<ReturnType<typeof api.dags.grid>>>().toEqualTypeOf<Grid>();
    expectTypeOf<Awaited<ReturnType<ReturnType<typeof api.dags.list>["first"]>>>().toEqualTypeOf<DagList>();
    expect(await api.dags.pause("sales", { reason: "slow" })).toMatchObject({ paused: true, reason: "slow" });
    expect(await api.dags.unpause("sales")).toMatchObject({ paused: false });
  });

  test("a problem is thrown with its code, and its details are typed by it", async () => {
    const trigger = () => api.trigger("sales", {}, { logicalDate: new Date("2026-05-01T00:00:00Z") });
    await trigger();
    const error = await caught(trigger());
    expect(error).toBeInstanceOf(MeridianError);
    expect(error).toMatchObject({ name: "ApiError", status: 409, kind: "conflict", code: "run_exists" });
    expect(error.is("run_exists") && error.details.runId).toBe("2026-05-01T00-00-00Z");
    expect(error.is("no_dag")).toBe(false);
    expect(await caught(api.dags.unpause("nowhere"))).toMatchObject({ kind: "not_found", code: "no_dag" });
    expect(await caught(api.runs.list({ limit: 0 }).first())).toMatchObject({
      kind: "refused",
      code: "bad_request",
    });
  });

  test("no server, or another one, is one clear line", async () => {
    const refused = new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") });
    const nobody = createClient({
      url: "http://127.0.0.1:9",
      fetch: answering(refused).fetcher,
      attempts: 1,
    });
    expect(await caught(nobody.pools.list())).toMatchObject({
      status: 0,
      kind: "retryable",
      code: "api_away",
      message: "cannot reach the API at http://127.0.0.1:9: connect ECONNREFUSED",
    });
    const other = createClient({
      url: "http://other",
      fetch: answering(new Response("<h1>hi</h1>", { status: 404 })).fetcher,
    });
    expect(await caught(other.pools.list())).toMatchObject({ kind: "not_found", code: "not_the_api" });
    expect(() => createClient({ url: "localhost:8080" })).toThrow(
      "expected one such as http://127.0.0.1:8080",
    );
  });

  test("health is told while the database is away, but what a proxy says in its place is no health", async () => {
    const json = (body: unknown) => new Response(JSON.stringify(body), { status: 503 });
    const asked = async (answer: Response) =>
      await createClient({ url, fetch: answering(answer).fetcher, attempts: 1 }).health();
    const health = { status: "degraded", database: { reachable: false }, temporal: { known: false } };
    expect(await asked(json(health))).toEqual(health);
    expect(await caught(asked(json({ message: "no upstream" })))).toMatchObject({
      status: 503,
      kind: "retryable",
      code: "not_the_api",
    });
    expect(await caught(asked(problem(503, "stopping")))).toMatchObject({ code: "stopping" });
  });

  test("what does not get through is sent again with the same idempotency key", async () => {
    const { asked, fetcher } = answering(
      new TypeError("fetch failed"),
      problem(409, "in_progress"),
      problem(503, "database_away", { "retry-after": "0" }),
      problem(429, "too_many", { "retry-after": "0" }),
      new Response(JSON.stringify({ dagId: "sales", runId: "r" }), { status: 201 }),
    );
    const client = createClient({ url, fetch: fetcher });
    expect(await client.trigger("sales")).toMatchObject({ runId: "r" });
    expect(asked.map(({ method }) => method)).toEqual(Array(5).fill("POST"));
    const keys = new Set(asked.map(({ headers }) => headers.get("idempotency-key")));
    expect(keys.size).toBe(1);
    expect([...keys][0]).toMatch(/^[0-9a-f]{32}$/);
    await client.trigger("sales", {}, { idempotencyKey: "mine" });
    await client.trigger("sales");
    expect(asked[5]!.headers.get("idempotency-key")).toBe("mine");
    expect(keys).not.toContain(asked[6]!.headers.get("idempotency-key"));
  });

  test("what was refused, or never gets better, is not sent for ever", async () => {
    for (const [answer, times] of [
      [problem(400, "bad_request"), 1],
      [problem(409, "in_progress"), 1],
      [problem(500, "internal"), 1],
      [problem(503, "database_away", { "retry-after": "0" }), 3],
    ] as const) {
      const { asked, fetcher } = answering(answer);
      const client = createClient({ url, fetch: fetcher, attempts: 3 });
      expect((await caught(client.dags.pause("sales"))).status).toBe(answer.status);
      expect(asked).toHaveLength(times);
    }
  });

  test("B15: a limit of more than 5 s is told at once, with when to ask again; a shorter one is waited for", async () => {
    const long = answering(problem(429, "rate_limited", { "retry-after": "40" }));
    const error = await caught(createClient({ url, fetch: long.fetcher }).trigger("sales"));
    expect(error).toMatchObject({ status: 429, kind: "limited", code: "rate_limited", retryAfterMs: 40_000 });
    expect(long.asked).toHaveLength(1);
    const short = answering(
      problem(429, "rate_limited", { "retry-after": "0.01" }),
      new Response(JSON.stringify({ dagId: "sales", runId: "r" }), { status: 201 }),
    );
    expect(await createClient({ url, fetch: short.fetcher }).trigger("sales")).toMatchObject({ runId: "r" });
    const silent = answering(problem(400, "bad_request"));
    expect(
      (await caught(createClient({ url, fetch: silent.fetcher }).trigger("sales"))).retryAfterMs,
    ).toBeNull();
  });

  test("a signal ends a call, also while it rests", async () => {
    const { asked, fetcher } = answering(problem(503, "database_away", { "retry-after": "30" }));
    const client = createClient({ url, fetch: fetcher });
    const reason = new Error("enough");
    const stop = new AbortController();
    const call = client.dags.get("sales", { signal: stop.signal });
    setTimeout(() => stop.abort(reason), 20);
    await expect(call).rejects.toBe(reason);
    expect(asked).toHaveLength(1);
    await expect(client.dags.get("sales", { signal: stop.signal })).rejects.toBe(reason);
    expect(asked).toHaveLength(1);
  });

  test("a server that does not answer counts as away", async () => {
    const silent = ((_input: string, init: RequestInit) =>
      new Promise((_resolve, reject) =>
        init.signal!.addEventListener("abort", () => reject(init.signal!.reason as Error)),
      )) as unknown as typeof fetch;
    const client = createClient({ url, fetch: silent, timeoutMs: 20, attempts: 2 });
    expect((await caught(client.pools.list())).message).toBe(
      `cannot reach the API at ${url}: no answer in time`,
    );
  });

  test("a token goes with each request; a function is asked each time", async () => {
    const { asked, fetcher } = answering(new Response(JSON.stringify({ pools: [] })));
    await createClient({ url, fetch: fetcher, token: "secret" }).pools.list();
    let n = 0;
    const fresh = createClient({ url, fetch: fetcher, token: async () => `token-${(n += 1)}` });
    await fresh.pools.list();
    await fresh.pools.list();
    expect(asked.map(({ headers }) => headers.get("authorization"))).toEqual([
      "Bearer secret",
      "Bearer token-1",
      "Bearer token-2",
    ]);
  });

  test("K70: lists are read over all their pages, or as far as wanted", async () => {
    const pages = () =>
      answering(
        new Response(JSON.stringify({ dags: [{ dagId: "a" }, { dagId: "b" }], total: 3, after: "b" })),
        new Response(JSON.stringify({ dags: [{ dagId: "c" }], total: 3, after: null })),
      );
    const whole = pages();
    const client = createClient({ url, fetch: whole.fetcher });
    const ids: string[] = [];
    for await (const dag of client.dags.list({ tag: ["x", "y"], search: "a&b", limit: 2 }))
      ids.push(dag.dagId);
    expect(ids).toEqual(["a", "b", "c"]);
    expect(whole.asked.map((one) => one.url)).toEqual([
      `${url}/api/v1/dags?tag=x&tag=y&search=a%26b&limit=2`,
      `${url}/api/v1/dags?tag=x&tag=y&search=a%26b&limit=2&after=b`,
    ]);
    const part = pages();
    const some = createClient({ url, fetch: part.fetcher }).dags.list();
    expect((await some.all(2)).map((dag) => dag.dagId)).toEqual(["a", "b"]);
    expect(part.asked).toHaveLength(1);
  });

  test("K68: an id never leads to another address", async () => {
    const { asked, fetcher } = answering(new Response("{}"));
    const client = createClient({ url, fetch: fetcher });
    for (const id of ["..", ".", ""]) await expect(client.dags.get(id)).rejects.toThrow("is not allowed");
    for (const id of ["path/to/file.mp4", "a b", "ü/ß", "50%", "x:y@z", "?a=b", "a#b", "../x"]) {
      await client.dags.get(id);
      const asking = new URL(asked.at(-1)!.url);
      expect(decodeURIComponent(asking.pathname.slice("/api/v1/dags/".length))).toBe(id);
      expect(asking.pathname.split("/")).toHaveLength(5);
      expect(asking.search + asking.hash).toBe("");
    }
  });
});
