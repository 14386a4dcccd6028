import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  branch,
  dag,
  sensor,
  task,
  taskGroup,
  waitFor,
  waitForRun,
  waitUntil,
} from "../../authoring/index.ts";
import type { Dag, DagOptions } from "../../authoring/index.ts";

const nothing = (): void => {};
const inDag = (build: () => void, options: DagOptions = {}): Dag => dag("sales", options, build);
const tasksOf = (made: Dag) => Object.fromEntries(made.graph.tasks.map((one) => [one.id, one]));
type Loose = (...args: unknown[]) => never;

function errorOf(build: () => void): { code: string; message: string } {
  try {
    inDag(build);
  } catch (error) {
    return error as { code: string; message: string };
  }
  throw new Error("nothing was thrown");
}

const DAY = 86_400_000;

describe("A6: waits in a graph", () => {
  test("A6: a sensor: Airflow's defaults, and the options of a task", () => {
    const { plain, own } = tasksOf(
      inDag(
        () => {
          sensor("plain", () => true);
          sensor("own", { every: "5m", timeout: null, softFail: true, pool: "api", retries: 1 }, () => true);
        },
        { defaults: { retries: 3, queue: "io" } },
      ),
    );
    expect(plain).toMatchObject({
      wait: { kind: "sensor", everyMs: 60_000, timeoutMs: 7 * DAY },
      retries: 3,
      queue: "io",
    });
    expect(own).toMatchObject({
      wait: { kind: "sensor", everyMs: 300_000, timeoutMs: null, softFail: true },
      retries: 1,
      pool: "api",
    });
  });

  test("A6: what is no wait has no word about it: its graph keeps the hash it had", () => {
    const { a } = tasksOf(inDag(() => void task("a", nothing)));
    expect(Object.keys(a!)).not.toContain("wait");
  });

  test("A6: waitFor: its payload as a JSON Schema of what is sent; null is anything", () => {
    const payload = z.object({ by: z.string(), on: z.iso.date().transform((day) => new Date(day)) });
    const { open, typed } = tasksOf(
      inDag(() => {
        waitFor("open", { timeout: "2h", softFail: true, label: "Approval", doc: "Who?" });
        waitFor("typed", { payload });
      }),
    );
    expect(open).toMatchObject({
      wait: { kind: "event", payload: null, timeoutMs: 7_200_000, softFail: true },
      label: "Approval",
      doc: "Who?",
    });
    expect(typed!.wait).toMatchObject({
      payload: {
        type: "object",
        required: ["by", "on"],
        additionalProperties: false,
        properties: { on: { type: "string", format: "date" } },
      },
    });
  });

  test("A6: waitUntil and waitForRun", () => {
    const other = dag("other", {}, () => void task("load", nothing));
    const made = tasksOf(
      inDag(() => {
        waitUntil("a", { delay: "30m" });
        waitUntil("b", { time: "06:00" });
        waitUntil("c", { at: "{{ data_interval_end | ts }}" });
        waitUntil("d", { at: "{{ conf.at }}", triggerRule: "all_done" });
        waitForRun("e", { dag: "stock" });
        waitForRun("f", {
          dag: other,
          task: "load",
          before: "1d",
          every: "1m",
          timeout: "1h",
          softFail: true,
        });
        waitForRun("g", { dag: "sales", logicalDate: "{{ conf.day }}" });
        waitForRun("h", { dag: "sales", before: "1d" });
      }),
    );
    expect(Object.values(made).map(({ wait }) => wait)).toEqual([
      { kind: "until", delayMs: 1_800_000 },
      { kind: "until", time: "06:00" },
      { kind: "until", at: "{{ data_interval_end | ts }}" },
      { kind: "until", at: "{{ conf.at }}" },
      { kind: "run", dagId: "stock", taskId: null, beforeMs: 0, everyMs: 5_000, timeoutMs: 7 * DAY },
      {
        kind: "run",
        dagId: "other",
        taskId: "load",
        beforeMs: DAY,
        everyMs: 60_000,
        timeoutMs: 3_600_000,
        softFail: true,
      },
      {
        kind: "run",
        dagId: "sales",
        taskId: null,
        beforeMs: 0,
        logicalDate: "{{ conf.day }}",
        everyMs: 5_000,
        timeoutMs: 7 * DAY,
      },
      { kind: "run", dagId: "sales", taskId: null, beforeMs: DAY, everyMs: 5_000, timeoutMs: 7 * DAY },
    ]);
    expect(made["d"]).toMatchObject({ triggerRule: "all_done" });
  });

  test("A6: defaults around a wait without a body do not apply, but retries of waitForRun", () => {
    const defaults = {
      retries: 4,
      retryDelay: "1s",
      pool: "db",
      queue: "io",
      executionTimeout: "1m",
    } as const;
    const { approval, other } = tasksOf(
      inDag(
        () => {
          taskGroup("g", { prefix: false, defaults: { isolation: "own" } }, () => {
            waitFor("approval");
            waitForRun("other", { dag: "stock" });
          });
        },
        { defaults },
      ),
    );
    const without = { pool: "default_pool", queue: "default", executionTimeoutMs: null, isolation: "shared" };
    expect(approval).toMatchObject({ ...without, retries: 0 });
    expect(other).toMatchObject({ ...without, retries: 4, retryDelayMs: 1000 });
  });

  test("A6 A7: mapped, in mapped groups, and behind branches", () => {
    const made = inDag(() => {
      const shops = task("shops", () => ["a", "b"]);
      waitFor("each", { expand: { shop: shops } });
      sensor("found", { expand: { shop: shops }, maxActivePerRun: 1 }, ({ inputs }) => inputs.shop);
      taskGroup("per_shop", { expand: { shop: shops } }, ({ shop }) => {
        const ok = waitFor("ok");
        const rested = waitUntil("rested", { delay: "1h" });
        task("use", { inputs: { shop, ok }, after: [rested] }, nothing);
      });
      const six = waitUntil("six", { time: "06:00" });
      branch("which", () => six).before(six);
    });
    const { each, found, "per_shop.ok": ok, "per_shop.rested": rested } = tasksOf(made);
    expect([each?.map, found?.map, found?.concurrency, ok?.map, rested?.map]).toEqual([0, 1, 1, 2, 2]);
    expect(made.bodyOf("each")).toBeUndefined();
    expect(made.bodyOf("found")).toBeTypeOf("function");
  });
});

describe("A6: what is wrong about a wait", () => {
  const where = 'dag "sales", task "w": ';
  const cases: readonly (readonly [string, () => void, string, string])[] = [
    [
      "no check",
      () => (sensor as Loose)("w"),
      "bad_body",
      "expected a function as the last argument of sensor()",
    ],
    [
      "rest below a second",
      () => sensor("w", { every: 10 }, nothing),
      "bad_option",
      'option "every" is 10; expected a number of milliseconds or a text like "30s", "5m", "1h", "2d", at least "1s"',
    ],
    [
      "no time at all",
      () => sensor("w", { timeout: 0 }, nothing),
      "bad_option",
      'option "timeout" is 0; expected a number of milliseconds or a text like "30s", "5m", "1h", "2d", above 0, or null',
    ],
    [
      "a sensor as a setup",
      () => (sensor as Loose)("w", { setup: true }, nothing),
      "bad_option",
      'option "setup" means nothing here: only a task prepares something or takes it away; leave it out',
    ],
    [
      "Airflow's rest",
      () => (sensor as Loose)("w", { poke_interval: 60 }, nothing),
      "unknown_option",
      'option "poke_interval" does not exist; did you mean "every"?',
    ],
    [
      "Airflow's mode",
      () => (sensor as Loose)("w", { mode: "reschedule" }, nothing),
      "unknown_option",
      "after its first check a sensor holds no slot, whatever its mode; leave it out",
    ],
    [
      "Airflow's soft_fail",
      () => (waitFor as Loose)("w", { soft_fail: true }),
      "unknown_option",
      'did you mean "softFail"?',
    ],
    [
      "Airflow's external_dag_id",
      () => (waitForRun as Loose)("w", { external_dag_id: "x" }),
      "unknown_option",
      'did you mean "dag"?',
    ],
    [
      "a body",
      () => (waitFor as Loose)("w", {}, nothing),
      "bad_body",
      'dag "sales", task "w": waitFor() takes no function, as nothing of it runs; what comes after it reads what it was ended with',
    ],
    [
      "retries",
      () => (waitFor as Loose)("w", { retries: 2 }),
      "bad_option",
      'option "retries" means nothing here: it has no body, and so nothing that could be tried again; leave it out',
    ],
    [
      "a pool",
      () => (waitUntil as Loose)("w", { time: "06:00", pool: "db" }),
      "bad_option",
      "it holds no slot",
    ],
    ["a queue", () => (waitForRun as Loose)("w", { dag: "x", queue: "db" }), "bad_option", "it has no body"],
    [
      "a batch",
      () => (waitFor as Loose)("w", { expand: { x: [1] }, batch: 2 }),
      "bad_option",
      '"batch" means nothing',
    ],
    ["inputs", () => (waitFor as Loose)("w", { inputs: {} }), "bad_option", "after orders without reading"],
    [
      "a time-out of what ends by itself",
      () => (waitUntil as Loose)("w", { time: "06:00", timeout: "1h" }),
      "bad_option",
      "its instant comes by itself",
    ],
    [
      "a payload that is no schema",
      () => (waitFor as Loose)("w", { payload: { by: "text" } }),
      "bad_payload",
      'option "payload": an object of type Object; expected a zod schema such as z.object({ by: z.string() })',
    ],
    [
      "a payload that is no JSON",
      () => waitFor("w", { payload: z.object({ on: z.date() }) }),
      "bad_payload",
      'option "payload": part "on": Date cannot be represented in JSON Schema; it comes as JSON',
    ],
    [
      "no instant",
      () => (waitUntil as Loose)("w"),
      "bad_option",
      "no instant is given; expected one of { delay",
    ],
    [
      "two instants",
      () => (waitUntil as Loose)("w", { time: "06:00", delay: "1h" }),
      "bad_option",
      "delay and time are given; expected one of",
    ],
    [
      "a wrong time",
      () => waitUntil("w", { time: "6:00" }),
      "bad_option",
      'expected a time of day such as "06:00"',
    ],
    [
      "params in an instant",
      () => waitUntil("w", { at: "{{ params.day }}" }),
      "bad_template",
      'option "at": "{{ params.day }}": params is not known here: a wait is made outside of any try',
    ],
    [
      "a try in an instant",
      () => waitUntil("w", { at: "{{ try_number }}" }),
      "bad_template",
      "expected one of ds, ds_nodash, ts, logical_date",
    ],
    [
      "a text that is no instant",
      () => waitUntil("w", { at: "{{ data_interval_end }}" }),
      "bad_option",
      'comes out as "2026-05-09 06:00:00+00:00" on 2026-05-09, and that is no instant; expected such as "{{ ds }}T06:00"',
    ],
    [
      "no DAG",
      () => (waitForRun as Loose)("w"),
      "bad_option",
      'option "dag" is missing; expected the id of the other DAG',
    ],
    ["no id", () => waitForRun("w", { dag: "a b" }), "bad_option", 'option "dag" is "a b"; expected the id'],
    [
      "its own run",
      () => waitForRun("w", { dag: "sales" }),
      "waits_for_itself",
      "it would wait for its own run",
    ],
    [
      "a task of its own run",
      () => waitForRun("w", { dag: "sales", task: "a" }),
      "waits_for_itself",
      "a task of the same run is waited for by after",
    ],
    [
      "two dates",
      () => waitForRun("w", { dag: "x", before: "1d", logicalDate: "{{ ds }}" }),
      "bad_option",
      "before and logicalDate both say which run it is",
    ],
    [
      "a task that the other DAG lacks",
      () => waitForRun("w", { dag: { id: "x", graph: tasksX } as unknown as Dag, task: "laod" }),
      "no_task",
      'option "task" is "laod", which dag "x" does not have; did you mean "load"?',
    ],
  ];
  const tasksX = { dagId: "x", tasks: [{ id: "load" }] };

  test.each(cases)("A6: %s", (_name, build, code, message) => {
    const error = errorOf(build);
    expect(error.message).toContain(message);
    expect(error.message.startsWith(where)).toBe(true);
    expect(error.code).toBe(code);
  });

  test("A6: outside of any DAG", () => {
    expect(() => waitFor("w")).toThrow('task "w" is outside of any DAG; call waitFor() inside the function');
  });
});

describe("A6: what a wait may be ended with", () => {
  test("A6: is checked by its schema, and by nothing where there is none", async () => {
    const made = inDag(() => {
      waitFor("typed", { payload: z.object({ by: z.string().refine(async (text) => text !== "") }) });
      waitFor("open");
    });
    expect(await made.payloadErrors("typed", { by: "me" })).toEqual([]);
    expect(await made.payloadErrors("typed", { bye: "me" })).toEqual([
      { path: "bye", message: 'does not exist; did you mean "by"?' },
      { path: "by", message: "is missing; expected string" },
    ]);
    expect(await made.payloadErrors("open", { anything: [1] })).toEqual([]);
  });
});
