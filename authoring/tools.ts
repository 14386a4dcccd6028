/** `task`, `taskGroup`, `branch`, `sensor` and the like: as a DAG's function gets them, and as they are imported. */
import { DefinitionError } from "../core/errors.ts";
import { registry, type OpenDag } from "./registry.ts";
import { show } from "./show.ts";
import type { DagTools } from "./tool-types.ts";
import type { AnyParams } from "./types.ts";

/** What the builder takes, by the name that authors call it by. */
const ADDS = {
  task: "addTask",
  taskGroup: "addGroup",
  branch: "addBranch",
  switchOn: "addSwitch",
  shortCircuit: "addShortCircuit",
  sensor: "addSensor",
  waitFor: "addEvent",
  waitUntil: "addUntil",
  waitForRun: "addOther",
} as const satisfies Record<keyof DagTools, keyof OpenDag>;

/** They take no function. */
const BODYLESS: readonly (keyof DagTools)[] = ["waitFor", "waitUntil", "waitForRun"];

/** `dagFor`: the DAG being built; it is told the tool and the id, for its error. */
export function toolsOf(dagFor: (tool: keyof DagTools, id: unknown) => OpenDag): DagTools {
  const tool =
    (name: keyof DagTools) =>
    (id: unknown, ...rest: readonly unknown[]): unknown => {
      const open = dagFor(name, id);
      if (BODYLESS.includes(name))
        return open[ADDS[name]](id, bodylessOptions(name, open, id, rest), undefined);
      return rest.length < 2 ? open[ADDS[name]](id, {}, rest[0]) : open[ADDS[name]](id, rest[0], rest[1]);
    };
  return Object.fromEntries(
    (Object.keys(ADDS) as (keyof DagTools)[]).map((name) => [name, tool(name)]),
  ) as unknown as DagTools;
}

function bodylessOptions(
  tool: keyof DagTools,
  { dagId }: OpenDag,
  id: unknown,
  rest: readonly unknown[],
): unknown {
  if (!rest.some((one) => typeof one === "function")) return rest[0] ?? {};
  const instead =
    tool === "waitFor" ? "what comes after it reads what it was ended with" : "what comes after it is a task";
  throw new DefinitionError(
    "bad_body",
    `dag "${dagId}", task ${show(id)}: ${tool}() takes no function, as nothing of it runs; ${instead}, and a check of your own is a sensor()`,
  );
}

const tools = toolsOf((tool, id) => {
  const { open } = registry();
  if (open !== undefined) return open;
  const what = tool === "taskGroup" ? "task group" : "task";
  throw new DefinitionError(
    "task_outside_dag",
    `${what} ${show(id)} is outside of any DAG; call ${tool}() inside the function given to dag()`,
  );
}) as DagTools<AnyParams>;

/**
 * Defines a task of the DAG being built. Nothing runs now: the answer is a reference that carries the type of the
 * body's return value to whoever names it in `inputs`. With `expand` it is mapped: it runs once for each item of a list.
 *
 * @example
 * const rows = task("rows", async ({ ds }) => [{ day: ds, rain: 3 }]);
 * task("rain", { inputs: { rows }, retries: 2 }, ({ inputs }) => inputs.rows[0]?.rain ?? 0);
 * const rains = task("each", { expand: { row: rows } }, ({ inputs }) => inputs.row.rain); // MappedRef<number>
 */
export const task = tools.task;

/**
 * Defines a group: the tasks and groups that `build` defines are shown as one, their ids begin with the group's. It may
 * be named in `after`, `.before()` and `.after()` like a task. With `expand` all of it runs once for each item of a list.
 *
 * @example
 * const load = taskGroup("load", { label: "Load the shops" }, () => {
 *   const rows = task("rows", () => [1, 2]); // its id is "load.rows"
 *   return { rows };
 * });
 * task("report", { inputs: { rows: load.returned.rows } }, ({ inputs }) => inputs.rows.length);
 */
export const taskGroup = tools.taskGroup;

/**
 * Defines a task that chooses what follows: its body answers one or more of the tasks and groups right after it, by
 * reference or id, or null for none. The others are skipped.
 *
 * @example
 * const full = task("full", () => "all of it");
 * const delta = task("delta", () => "what is new");
 * branch("how", ({ ds }) => (ds.endsWith("01") ? full : delta)).before(full, delta);
 */
export const branch = tools.branch;

/**
 * Defines a branch by cases: its body answers a key of `cases`, and what is named there follows. It comes before all that
 * it names.
 *
 * @example
 * const eu = task("eu", () => 1);
 * const us = task("us", () => 2);
 * switchOn("region", { cases: { eu, us }, otherwise: null }, ({ conf }) => String(conf["region"]));
 */
export const switchOn = tools.switchOn;

/**
 * Defines a task that says whether anything after it runs: with false all of it is skipped, whatever its trigger rules.
 *
 * @example
 * const isOpen = shortCircuit("is_open", ({ logicalDate }) => logicalDate.getUTCDay() !== 0);
 * task("sell", { after: [isOpen] }, () => "sold");
 */
export const shortCircuit = tools.shortCircuit;

/**
 * Defines a task that waits until its check answers something: false, null and undefined mean "not yet", any other value
 * ends it and is its output. After the first "not yet" it holds no slot. A check that throws is a failed try.
 *
 * @example
 * const size = sensor("file", { every: "5m", timeout: "12h" }, async () => (await stat(path).catch(() => null))?.size);
 * task("load", { inputs: { size } }, ({ inputs }) => inputs.size); // a number
 */
export const sensor = tools.sensor;

/**
 * Defines a task without a body, which somebody ends: by its address (`waitUrl` in a body's context), the page, the API or
 * the command line. Its output is what it was ended with. It holds no slot.
 *
 * @example
 * const approval = waitFor("approval", { payload: z.object({ by: z.string() }), timeout: "3d" });
 * task("pay", { inputs: { approval } }, ({ inputs }) => `approved by ${inputs.approval.by}`);
 */
export const waitFor = tools.waitFor;

/**
 * Defines a task without a body, which waits for an instant. It holds no slot.
 *
 * @example
 * waitUntil("morning", { time: "06:00" }); // in the DAG's zone, on the day on which the data interval ends
 * waitUntil("rested", { delay: "30m" }); // after the end of the data interval
 * waitUntil("said", { at: "{{ conf.opening }}" });
 */
export const waitUntil = tools.waitUntil;

/**
 * Defines a task without a body, which waits for a run of another DAG, or for a task in it, to succeed; it fails when that
 * failed. While there is no such run it waits. It holds no slot.
 *
 * @example
 * const sales = waitForRun("sales", { dag: "sales_daily", timeout: "12h" }); // of the same logical date
 * waitForRun("yesterdays_load", { dag: "stock", task: "load", before: "1d" });
 */
export const waitForRun = tools.waitForRun;
