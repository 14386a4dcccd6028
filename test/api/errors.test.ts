import { expect, test } from "vitest";
import {
  Conflict,
  DefinitionError,
  Limited,
  NotFound,
  Refused,
  Retryable,
  Terminal,
  type MeridianError,
} from "../../core/errors.ts";
import { fakeClient, post, problemOf, testApp } from "./support.ts";

const failing = (error: unknown, log: (...args: unknown[]) => void = () => {}) => {
  const { client } = fakeClient();
  const fail = () => Promise.reject(error as Error);
  return testApp({ client: { ...client, pause: fail, trigger: fail }, log });
};

const KINDS: [MeridianError, number][] = [
  [new DefinitionError("bad", "wrong text"), 422],
  [new Refused("bad", "not so"), 400],
  [new NotFound("bad", "nothing here"), 404],
  [new Conflict("bad", "is there", { details: { runId: "r" } }), 409],
  [new Limited("bad", "too often", 4_001, { triggers: 3 }), 429],
  [new Retryable("bad", "later"), 503],
  [new Terminal("bad", "never"), 500],
];

test.each(KINDS)("%s is %i with code, detail and details", async (error, status) => {
  const response = await post(failing(error), "/dags/sales/pause", {});
  expect(response.headers.get("Retry-After")).toBe(
    ({ 429: "5", 503: "1" } as Record<number, string>)[status] ?? null,
  );
  const problem = await problemOf(response, status);
  expect(problem).toMatchObject({
    code: "bad",
    detail: error.message,
    details: error.details,
    type: "about:blank",
  });
});

test.each(["over_cap", "queue_refused"])("B15 B17: %s is 422", async (code) => {
  const response = await post(failing(new Refused(code, "40 cores asked, cap 16")), "/dags/sales/runs", {});
  expect(await problemOf(response, 422)).toMatchObject({ code, detail: "40 cores asked, cap 16" });
});

test("an unknown error leaves an id, and its text and stack stay in the log", async () => {
  const logged: unknown[][] = [];
  const error = new Error("password is hunter2");
  const response = await post(
    failing(error, (...args) => logged.push(args)),
    "/dags/sales/runs",
    {},
  );
  const problem = await problemOf(response, 500);
  expect(problem.code).toBe("internal");
  expect(JSON.stringify(problem)).not.toMatch(/hunter2|\.ts|at /);
  expect(logged).toEqual([
    [
      { id: problem.details["id"], method: "POST", path: "/api/v1/dags/sales/runs", err: error },
      "unknown error",
    ],
  ]);
});

test.each(["ECONNREFUSED", "57P01", "08006", "53300", "57014"])("database error %s is 503", async (code) => {
  const problem = await problemOf(
    await post(failing(Object.assign(new Error("x"), { code })), "/dags/sales/pause", {}),
    503,
  );
  expect(problem.code).toBe("database_away");
});

test("text that the database cannot hold is 400", async () => {
  const error = Object.assign(new Error("invalid byte sequence"), { code: "22021" });
  expect((await problemOf(await post(failing(error), "/dags/sales/pause", {}), 400)).code).toBe("bad_text");
});

test.each([
  ["GET", "/api/v1/nothing", 404],
  ["GET", "/api/v2/dags", 404],
  ["GET", "/api", 404],
  ["PUT", "/api/v1/dags/sales", 405],
  ["GET", "/api/v1/dags/sales/pause", 405],
  ["OPTIONS", "/api/v1/pools", 405],
  ["PATCH", "/api/v1/nothing", 404],
  ["GET", "/api/v1/dags/", 404],
  ["POST", "/dags", 405],
])("%s %s is %i", async (method, path, status) => {
  await problemOf(await testApp().request(path, { method }), status);
});

test("an address that takes other methods names them", async () => {
  const response = await testApp().request("/api/v1/pools/etl", { method: "PUT" });
  expect(response.headers.get("Allow")).toBe("POST, DELETE");
  expect((await problemOf(response, 405)).detail).toBe(
    "PUT /api/v1/pools/etl is not taken: expected POST or DELETE",
  );
});
