import type { z } from "@hono/zod-openapi";
import type pg from "pg";
import { expect } from "vitest";
import { createApp, type AppDeps } from "../../api/app.ts";
import { Problem } from "../../api/contracts.ts";
import type { MeridianClient, TriggerRequest } from "../../client/types.ts";
import { Conflict, NotFound } from "../../core/errors.ts";
import { runIdOf, workflowIdOf } from "../../core/ids.ts";

/** Trigger, pause and unpause in memory: knows the DAGs named, and which dates are taken. */
export function fakeClient(dagIds: readonly string[] = ["sales"]) {
  const calls: unknown[][] = [];
  const taken = new Set<string>();
  let now = Date.parse("2026-05-09T10:00:00Z");
  const check = (dagId: string): void => {
    if (!dagIds.includes(dagId)) throw new NotFound("no_dag", `there is no dag "${dagId}"`);
  };
  const client: MeridianClient = {
    trigger: async (request: TriggerRequest) => {
      calls.push(["trigger", request]);
      check(request.dagId);
      const runId = runIdOf(request.logicalAt ?? (now += 1));
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (taken.has(`${request.dagId} ${runId}`)) {
        throw new Conflict("run_exists", `run "${runId}" exists`, { details: { runId } });
      }
      taken.add(`${request.dagId} ${runId}`);
      const workflowId = workflowIdOf(request.dagId, runId);
      return { dagId: request.dagId, run: taken.size, runId, state: "running", workflowId };
    },
    command: async (request) => {
      calls.push(["command", request]);
      check(request.dagId);
      return { cells: 1 };
    },
    endWait: async ({ at, payload, who }) => {
      calls.push(["endWait", at, payload, who]);
      if (!("dagId" in at)) return { ...at, dagId: "sales", runId: "r" };
      check(at.dagId);
      return { ...at, try: 1, wait: 1 };
    },
    checkWait: async ({ who, ...at }) => {
      calls.push(["checkWait", at, who]);
      check(at.dagId);
      return { ...at, try: 1, wait: 1 };
    },
    pause: async (dagId, who, reason) => {
      calls.push(["pause", dagId, who, reason]);
      check(dagId);
    },
    unpause: async (dagId, who) => {
      calls.push(["unpause", dagId, who]);
      check(dagId);
    },
  };
  return { client, calls, taken };
}

/** A database that must not be asked. */
const noDatabase = { query: () => Promise.reject(new Error("asked the database")) } as unknown as pg.Pool;

export function testApp(given: Partial<AppDeps> = {}) {
  return createApp({
    db: noDatabase,
    client: fakeClient().client,
    logs: { read: () => Promise.reject(new Error("asked for a log")) },
    objects: { open: () => Promise.reject(new Error("asked for an object")) },
    temporalWeb: { url: "http://localhost:8233/", namespace: "default" },
    allowedHosts: [],
    webFolder: null,
    version: "1.2.3",
    log: () => {},
    ...given,
  });
}
export type TestApp = ReturnType<typeof testApp>;

/** Asks for JSON and checks that exactly the contract left, nothing more. */
export async function get<S extends z.ZodType>(app: TestApp, path: string, contract: S): Promise<z.infer<S>> {
  const response = await app.request(`/api/v1${path}`);
  const body: unknown = await response.json();
  expect({ status: response.status, body }).toMatchObject({ status: 200 });
  expect(contract.parse(body)).toEqual(body);
  return body as z.infer<S>;
}

export const post = async (
  app: TestApp,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
) =>
  await app.request(`/api/v1${path}`, {
    method: "POST",
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    headers: { ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers },
  });

/** Checks that the answer is a problem with this status, and returns it. */
export async function problemOf(response: Response, status: number): Promise<Problem> {
  const text = await response.text();
  expect({ status: response.status, text }).toMatchObject({ status });
  expect(response.headers.get("Content-Type")).toBe("application/problem+json");
  const problem = Problem.parse(JSON.parse(text));
  expect(problem.status).toBe(status);
  return problem;
}
