import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Limits, LimitsApplied, LimitsPlan } from "../../api/contracts-limits.ts";
import { parseLimits } from "../../api/limits-text.ts";
import { ROOT } from "../docs/generated.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { insertDag, insertRun } from "./rows.ts";
import { get, post, problemOf, testApp, type TestApp } from "./support.ts";

let database: TestDatabase;
let app: TestApp;
const EXAMPLE = readFileSync(join(ROOT, "docs/limits.example.yaml"), "utf8");

beforeAll(async () => {
  database = await createTestDatabase("api", 25);
  app = testApp({ db: database.pool });
  await insertDag(database.pool, "finance_close", { tags: ["close"] });
  await insertDag(database.pool, "other");
  await insertRun(database.pool, "finance_close", "2026-05-09T00:00:00Z", { state: "running" });
});
beforeEach(async () => {
  await database.pool.query(
    `truncate app.limits, app.audit, app.idempotency; delete from app.account where key <> 'pool:default_pool';
     update app.dag set tenant = null, class = 1; update app.dag_run set tenant = null, class = 1`,
  );
});
afterAll(() => database.drop());

const plan = async (text: string): Promise<LimitsPlan> => {
  const response = await post(app, "/limits/plan", { text });
  expect(response.status).toBe(200);
  return LimitsPlan.strict().parse(await response.json());
};
const put = async (body: unknown, headers: Record<string, string> = {}) =>
  await app.request("/api/v1/limits", {
    method: "PUT",
    body: JSON.stringify(body),
    headers: { "Content-Type": "application/json", "X-Meridian-User": "ann%40ci", ...headers },
  });
const apply = async (body: unknown): Promise<LimitsApplied> => {
  const response = await put(body);
  expect(response.status).toBe(200);
  return LimitsApplied.strict().parse(await response.json());
};

describe("B12: the limits file over the API", () => {
  test("B12: nothing, planned, applied, in force; a plan of the same shows nothing", async () => {
    expect(await get(app, "/limits", Limits)).toEqual({ id: null, at: null, who: null, file: null });
    const planned = await plan(EXAMPLE);
    expect(planned).toMatchObject({ current: null, changed: true, dags: 1, runs: 1 });
    expect(planned.changes).toEqual(
      expect.arrayContaining([
        {
          what: "pool",
          name: "warehouse",
          before: null,
          after: "32 slots, of which runs by hand take 16 at the most (connections of the warehouse)",
        },
        {
          what: "tenant",
          name: "research",
          before: null,
          after: "40 slots, cohort data, at the most 80 with what it borrows, 500 core-hours a day",
        },
        {
          what: "rule",
          name: "2",
          before: null,
          after: "dags finance_*, tag close → tenant finance, critical",
        },
        { what: "queue", name: "gpu", before: null, after: "for research; others are sent to default" },
        { what: "rate", name: "1", before: null, after: "caller: 30 triggers in 60 s" },
        { what: "queued", name: "timeoutMs", before: null, after: "21600 s" },
        {
          what: "dag",
          name: "finance_close",
          before: "no tenant, standard",
          after: "tenant finance, critical",
        },
      ]),
    );
    const { current, ...shown } = planned;
    const applied = await apply({ text: EXAMPLE, ifCurrent: current });
    expect(applied).toEqual({ id: applied.id, ...shown });
    const now = await get(app, "/limits", Limits);
    expect(now).toMatchObject({ id: applied.id, who: "ann@ci", file: parseLimits(EXAMPLE) });
    expect(await plan(EXAMPLE)).toEqual({
      current: applied.id,
      changed: false,
      changes: [],
      dags: 0,
      runs: 0,
    });
    // What GET answers can be applied again.
    expect(await plan(JSON.stringify(now.file))).toMatchObject({ changed: false });
    const again = await apply({ text: EXAMPLE });
    expect(again).toEqual({ id: applied.id, changed: false, changes: [], dags: 0, runs: 0 });
    const { rows } = await database.pool.query("select who, action from app.audit");
    expect(rows).toEqual([{ who: "ann@ci", action: "apply_limits" }]);
  });

  test("B12: rules that change places, come and go", async () => {
    const rules = (...list: string[]): string =>
      `rules: [${list.map((one) => `{ dags: ${one} }`).join(", ")}]`;
    await apply({ text: rules("a", "b", "c") });
    expect((await plan(rules("c", "d", "a"))).changes).toEqual([
      { what: "rule", name: "2", before: "dags b → no tenant, standard", after: null },
      { what: "rule", name: "2", before: null, after: "dags d → no tenant, standard" },
      { what: "rule", name: "order", before: "1 3", after: "3 1" },
    ]);
  });

  test("B12: of many DAGs the first are listed, all are counted", async () => {
    await database.pool.query(
      `insert into app.dag (dag_id, file, timetable, timetable_hash, max_active_runs, shard)
       select 'many_' || lpad(n::text, 3, '0'), 'f', '{"kind":"manual"}', 'h', 1, 0 from generate_series(1, 150) n`,
    );
    const planned = await plan("rules: [{ dags: many_*, class: critical }]");
    expect(planned.dags).toBe(150);
    const listed = planned.changes.filter(({ what }) => what === "dag");
    expect([listed.length, listed[0]?.name, listed.at(-1)?.name]).toEqual([100, "many_001", "many_100"]);
    await database.pool.query("delete from app.dag where dag_id like 'many_%'");
  });

  test("B12: limits that others applied since the plan are not overwritten", async () => {
    const first = await apply({ text: "adhoc: { maxCores: 2 }", ifCurrent: null });
    const problem = await problemOf(await put({ text: "{}", ifCurrent: null }), 409);
    expect(problem).toMatchObject({ code: "limits_changed", details: { current: first.id } });
    expect(problem.detail).toMatch(
      /^the limits are not those of the plan any more: ann@ci applied others, \d+, at 20.*; plan again$/,
    );
    expect(await get(app, "/limits", Limits)).toMatchObject({ id: first.id });
  });

  test("B12: one key, one apply", async () => {
    const key = { "Idempotency-Key": "k1" };
    const answers = await Promise.all(
      [1, 2].map(async () => await (await put({ text: "adhoc: { maxCores: 3 }" }, key)).json()),
    );
    const third = await put({ text: "adhoc: { maxCores: 3 }" }, key);
    expect(third.headers.get("Idempotency-Replayed")).toBe("true");
    expect(await third.json()).toMatchObject({ changed: true });
    expect(answers).toContainEqual(expect.objectContaining({ changed: true }));
    const { rows } = await database.pool.query("select from app.limits");
    expect(rows).toHaveLength(1);
  });

  test.each([
    ["", "it is empty; write {} for no limits at all"],
    ["# only a remark", "it is empty; write {} for no limits at all"],
    ["pools: [", "line 1: "],
    ["pools: {}\npools: {}", "line 2: Map keys must be unique"],
    ["a: 1\n---\nb: 2", "line 2: Source contains multiple documents"],
    ["tenants:\n  a: {}\n", "line 2, tenants.a: slots is missing; say it"],
    [
      "tenants:\n  a:\n    slots: 1\n    cohort: 7\n",
      "line 4, tenants.a.cohort: found 7, expected a text; put it in quotes",
    ],
    [
      "rules:\n  - {dags: x}\n  - {tenant: y}",
      'line 3, rules[1].tenant: there is no tenant "y" in this file; add it under tenants',
    ],
    ["tenant: {}", 'line 1, tenant: there is no such key here; did you mean "tenants"?'],
    ["adhoc: {maxCores: .inf}", "adhoc.maxCores: found Infinity, expected a number above 0"],
    ['rules: [{dags: "\\uD800"}]', "it holds characters that cannot be stored"],
    [
      `a: &a [1,1,1,1,1,1,1,1]\nb: &b [${"*a,".repeat(9)}]\nc: &c [${"*b,".repeat(9)}]\nd: [${"*c,".repeat(9)}]`,
      "Excessive alias count indicates a resource exhaustion attack",
    ],
  ])("B12: a file with a mistake is refused with its line: %j", async (text, expected) => {
    for (const response of [await post(app, "/limits/plan", { text }), await put({ text })]) {
      const problem = await problemOf(response, 400);
      expect(problem.code).toBe("bad_limits");
      expect(problem.detail).toContain(expected);
      expect(problem.details["mistakes"]).not.toEqual([]);
    }
    expect(await get(app, "/limits", Limits)).toMatchObject({ id: null });
  });
});
