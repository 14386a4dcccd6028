/** One task in this process: a try of its body with chosen inputs, or its templates alone. */
import type { BodyContext, BodyError, BodyOutcome, LogLine } from "../core/body.ts";
import { isoOf } from "../core/calendar/dates.ts";
import { NotFound, Refused } from "../core/errors.ts";
import type { SerialGraph, SerialTask } from "../core/graph.ts";
import { askedOf, planOf } from "../core/plan.ts";
import { didYouMean } from "../core/suggest.ts";
import type { SerialWait } from "../core/waits.ts";
import { makeContext } from "./context.ts";
import { clockOf, withClock } from "./local-clock.ts";
import {
  asJson,
  callerOf,
  checkConf,
  contextOf,
  GRACE_MS,
  intervalOf,
  noConnection,
  waitUrlsOf,
  type LocalOptions,
} from "./local-context.ts";
import { startTry } from "./local-try.ts";
import { limitOf } from "./local-waits.ts";
import type { Dag } from "./registry.ts";
import type { TaskBody } from "./types.ts";

export interface TaskRunOptions extends LocalOptions {
  /** Outputs of upstream tasks, by the names that the task gives its inputs. */
  readonly inputs?: Readonly<Record<string, unknown>> | undefined;
  /** Number of the try. Default 1. */
  readonly try?: number | undefined;
  /** Of a mapped task: which instance it is, for bodies that ask. Default 0. */
  readonly mapIndex?: number | undefined;
  /** What a body that has waited goes on with. Default: it begins. */
  readonly resumed?: { readonly payload?: unknown; readonly state?: unknown } | undefined;
}

export interface LocalTry {
  readonly dagId: string;
  readonly taskId: string;
  readonly runId: string;
  /** `deferred`: it would wait now. */
  readonly state: "success" | "failed" | "timed_out" | "skipped" | "cancelled" | "deferred";
  readonly dataInterval: { readonly start: Date; readonly end: Date };
  /** Undefined: it has none. */
  readonly output: unknown;
  readonly error: BodyError | null;
  /** Why it was skipped or cancelled, when it said so; of a try that waits, what for. */
  readonly message: string | null;
  readonly log: readonly LogLine[];
}

/**
 * Runs one try of a task here and now; no upstream runs, their outputs are given. `retries` are not followed.
 *
 * @example
 * const total = await runTask(sales, "total", { logicalAt: "2026-05-09", inputs: { rows: [1, 2, 3] } });
 * assert.equal(total.output, 6);
 */
export async function runTask(dag: Dag, taskId: string, options: TaskRunOptions = {}): Promise<LocalTry> {
  const caller = callerOf(runTask);
  const { graph } = dag;
  const task = taskOf(dag, taskId);
  const clock = clockOf(options.now, graph.zone);
  const interval = intervalOf(graph, options, clock);
  const context = contextOf(graph, interval, options);
  const body = bodyOf(dag, task);
  const tried = tryOf(task, options);
  const inputs = inputsOf(dag, task, options.inputs ?? {});
  const log: LogLine[] = [];
  const begin = async () => {
    await checkConf(dag, context.conf, caller);
    const running = startTry({
      context: { ...context, ...tried, ...waitsOf(graph, context.runId, tried, options) },
      body,
      inputs,
      ...askedOf(planOf(graph), graph.tasks.indexOf(task)),
      limit: limitOf(task, { tryBy: task.executionTimeoutMs, waitBy: null }, 0),
      graceMs: options.graceMs ?? GRACE_MS,
      connection: options.connection ?? noConnection,
      log: (level, text) => {
        const line = { at: clock(), level, text };
        log.push(line);
        options.log?.(taskId, line);
      },
    });
    const stop = (): void => running.stop("the local run was cancelled");
    options.signal?.addEventListener("abort", stop, { once: true });
    if (options.signal?.aborted === true) stop();
    return await running.outcome.finally(() => options.signal?.removeEventListener("abort", stop));
  };
  const outcome = await (options.now === undefined ? begin() : withClock(clock, begin));
  return {
    dagId: graph.dagId,
    taskId,
    runId: context.runId,
    state: outcome.kind === "requeued" ? "cancelled" : outcome.kind,
    dataInterval: { start: new Date(interval.startAt), end: new Date(interval.endAt) },
    output: outcome.kind === "success" ? outcome.output : undefined,
    error: "error" in outcome ? outcome.error : null,
    message: messageOf(task, outcome),
    log,
  };
}

function messageOf({ wait }: SerialTask, outcome: BodyOutcome): string | null {
  if (outcome.kind !== "deferred")
    return "message" in outcome && outcome.message !== "" ? outcome.message : null;
  const { deferral } = outcome;
  if (deferral.on === "time") return `waits until ${isoOf(deferral.at)}, and goes on then`;
  if (deferral.on === "event") return "waits until somebody ends it, and goes on then";
  const everyMs = wait?.kind === "sensor" ? wait.everyMs : 0;
  return `not yet: its check answered false, null or undefined; it would be asked again every ${everyMs} ms`;
}

function bodyOf(dag: Dag, { id, wait }: SerialTask): TaskBody {
  const body = dag.bodyOf(id);
  if (body !== undefined) return body;
  throw new Refused(
    "no_body",
    `dag "${dag.id}", task "${id}" has no body that could be tried: ${WAITS[wait?.kind ?? "event"]}; test what comes after it, or the whole DAG`,
  );
}

const WAITS: Readonly<Record<SerialWait["kind"], string>> = {
  sensor: "it checks",
  event: "it waits until somebody ends it",
  until: "it waits for an instant",
  run: "it waits for a run of another DAG",
};

function waitsOf(
  graph: SerialGraph,
  runId: string,
  tried: Pick<BodyContext, "taskId" | "mapIndex">,
  { resumed }: TaskRunOptions,
): Pick<BodyContext, "resumed" | "waitUrls"> {
  const waitUrls = waitUrlsOf(graph, runId, tried);
  if (resumed === undefined) return { waitUrls };
  const { payload = null, state } = resumed;
  return {
    waitUrls,
    resumed: {
      payload: asJson("resumed.payload", payload),
      state: state === undefined ? state : asJson("resumed.state", state),
    },
  };
}

/**
 * The task's `templates` as its body would get them.
 *
 * @example
 * await renderTask(sales, "load", { logicalAt: "2026-05-09" }); // { path: "s3://sales/2026-05-09" }
 */
export async function renderTask(
  dag: Dag,
  taskId: string,
  options: Omit<TaskRunOptions, "inputs" | "log" | "connection" | "signal" | "graceMs"> = {},
): Promise<Readonly<Record<string, unknown>>> {
  const caller = callerOf(renderTask);
  const { graph } = dag;
  const task = taskOf(dag, taskId);
  const interval = intervalOf(graph, options, clockOf(options.now, graph.zone));
  const data = { ...contextOf(graph, interval, options), ...tryOf(task, options) };
  await checkConf(dag, data.conf, caller);
  const services = { log: () => undefined, signal: new AbortController().signal, connection: noConnection };
  return (await dag.ready(taskId, makeContext(data, {}, services))).templates;
}

function tryOf(task: SerialTask, options: Pick<TaskRunOptions, "try" | "mapIndex">) {
  return {
    taskId: task.id,
    mapIndex: task.map === undefined ? -1 : (options.mapIndex ?? 0),
    try: options.try ?? 1,
    maxTries: task.retries + 1,
  };
}

function taskOf({ graph }: Dag, taskId: string): SerialTask {
  const task = graph.tasks.find(({ id }) => id === taskId);
  if (task !== undefined) return task;
  const ids = graph.tasks.map(({ id }) => id);
  const inGroup = ids.filter((id) => id.endsWith(`.${taskId}`));
  const hint =
    inGroup.length > 0
      ? `; did you mean ${inGroup.map((id) => JSON.stringify(id)).join(" or ")}?`
      : didYouMean(taskId, ids) || `; it has ${ids.join(", ")}`;
  throw new NotFound("no_task", `dag "${graph.dagId}" has no task ${JSON.stringify(taskId)}${hint}`);
}

/** As they would arrive, each a copy; under `all_success` none may be missing, nor under any rule an item of a list. */
function inputsOf(
  { graph }: Dag,
  task: SerialTask,
  given: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const where = `dag "${graph.dagId}", task "${task.id}"`;
  const items = Object.keys(task.items ?? {});
  const names = [...Object.keys(task.inputs), ...items];
  for (const name of Object.keys(given)) {
    if (names.includes(name)) continue;
    const hint =
      didYouMean(name, names) || (names.length === 0 ? "; it has none" : `; it has ${names.join(", ")}`);
    throw new Refused("unknown_input", `${where} has no input ${JSON.stringify(name)}${hint}`);
  }
  const missing = names.filter(
    (name) => given[name] === undefined && (task.triggerRule === "all_success" || items.includes(name)),
  );
  if (missing.length > 0) {
    const list = missing.map((name) =>
      items.includes(name)
        ? `"${name}" (what an instance gets of a list)`
        : `"${name}" (the output of task "${graph.tasks[task.inputs[name]!]!.id}")`,
    );
    throw new Refused(
      "input_missing",
      `${where} reads ${list.join(", ")}: give a value for each, by \`inputs\` of runTask or by --input name=JSON of the command line`,
    );
  }
  return Object.fromEntries(
    names
      .filter((name) => given[name] !== undefined)
      .map((name) => [name, asJson(`input "${name}"`, given[name])]),
  );
}
