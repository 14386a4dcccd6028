/** What a run, or one try, of this process is about: its interval and the context that its bodies get. */
import type { BodyContext, LogLine } from "../core/body.ts";
import { dsOf, isoOf, parseInstant } from "../core/calendar/dates.ts";
import { intervalFor } from "../core/calendar/plan.ts";
import type { Interval } from "../core/calendar/plan.ts";
import { Refused, Terminal, type MeridianError } from "../core/errors.ts";
import type { SerialGraph } from "../core/graph.ts";
import { runIdOf } from "../core/ids.ts";
import { paramErrorsText, type ParamError } from "../core/params.ts";
import type { Clock, Now } from "./local-clock.ts";
import { toOutput } from "./output.ts";
import type { Dag } from "./registry.ts";

/** What `runDag`, `runTask` and `renderTask` take alike. */
export interface LocalOptions {
  /** Logical date: epoch ms, a Date, or a text in the DAG's zone such as `"2015-12-09"`. Default: now. */
  readonly logicalAt?: number | string | Date | undefined;
  /** The data interval, when it is not the one that the schedule has at `logicalAt`. */
  readonly interval?: { readonly start: Date; readonly end: Date } | undefined;
  /** What a trigger passes. Default `{}`: as a scheduled run. */
  readonly conf?: Readonly<Record<string, unknown>> | undefined;
  /** Default: no connection is known. `connectionsFrom(process.env)` reads them as a worker does. */
  readonly connection?: ((name: string) => string) | undefined;
  /** Takes each log line as it is written. */
  readonly log?: ((taskId: string, line: LogLine) => void) | undefined;
  /**
   * What bodies read as `new Date()` and `Date.now()`: an instant (a text is read in the DAG's zone), from which it goes on,
   * or a function. Timers and `performance` stay real. Default: the real time.
   */
  readonly now?: Now | undefined;
  /** Aborting it cancels what runs. */
  readonly signal?: AbortSignal | undefined;
  /** How long a body told to stop may still take. Unit ms. Default 1000. */
  readonly graceMs?: number | undefined;
}

export const GRACE_MS = 1000;

/**
 * Of what somebody is to end, and of the task itself, which may defer: they lead nowhere here. Of a mapped wait only the
 * instance that goes with this one.
 */
export function waitUrlsOf(
  { dagId, tasks }: SerialGraph,
  runId: string,
  { taskId, mapIndex }: Pick<BodyContext, "taskId" | "mapIndex">,
): Readonly<Record<string, string>> {
  const own = tasks.find(({ id }) => id === taskId)!;
  const waits = tasks.filter(
    (one) => one === own || (one.wait?.kind === "event" && (one.map === undefined || one.map === own.map)),
  );
  return Object.fromEntries(
    waits.map(({ id, map }) => {
      const name = map === undefined ? id : `${id}[${mapIndex}]`;
      return [id, `http://local-run.invalid/${dagId}/${runId}/${encodeURIComponent(name)}`];
    }),
  );
}

export function intervalOf(graph: SerialGraph, options: LocalOptions, clock: Clock): Interval {
  const { interval, logicalAt } = options;
  if (interval !== undefined) return { startAt: interval.start.getTime(), endAt: interval.end.getTime() };
  if (logicalAt === undefined) return intervalFor(graph.timetable, Math.floor(clock()));
  const at = typeof logicalAt === "string" ? parseInstant(logicalAt, graph.zone) : Number(logicalAt);
  if (Number.isSafeInteger(at)) return intervalFor(graph.timetable, at);
  throw new Refused(
    "bad_date",
    `logicalAt is ${String(logicalAt)}; expected epoch milliseconds, a Date or a date text`,
  );
}

export function contextOf(
  { dagId, zone }: SerialGraph,
  { startAt, endAt }: Interval,
  options: LocalOptions,
): Omit<BodyContext, "taskId" | "mapIndex" | "try" | "maxTries"> {
  return {
    dagId,
    runId: runIdOf(startAt),
    run: 0,
    runType: "manual",
    logicalDate: isoOf(startAt),
    dataInterval: { start: isoOf(startAt), end: isoOf(endAt) },
    ds: dsOf(startAt, zone),
    zone,
    conf: options.conf === undefined ? {} : asJson("conf", options.conf),
  };
}

/** Where one of our functions was called: what it refuses has the stack of its caller. */
export interface Caller {
  readonly stack?: string;
}

export function callerOf(called: (...args: never[]) => unknown): Caller {
  const caller = {};
  Error.captureStackTrace(caller, called);
  return caller;
}

/** Before any body: a conf that the DAG's params cannot read, with all that does not fit. */
export async function checkConf(
  dag: Dag,
  conf: Readonly<Record<string, unknown>>,
  caller: Caller,
): Promise<void> {
  try {
    await dag.readParams(conf);
  } catch (thrown) {
    // Maybe of another copy of this library.
    const { code, details } = thrown as Partial<MeridianError>;
    if (code !== "bad_params") throw thrown;
    const errors = (details?.["errors"] ?? []) as readonly ParamError[];
    const refused = new Refused(
      "bad_params",
      `conf does not fit the params of dag "${dag.id}": ${paramErrorsText(errors)}`,
      { details: { errors } },
    );
    refused.stack = `${refused.name}: ${refused.message}\n${(caller.stack ?? "").split("\n").slice(1).join("\n")}`;
    throw refused;
  }
}

/** As it would arrive through the API or the database; refused when it would not arrive as it is. */
export function asJson<T>(name: string, value: T): T {
  const checked = toOutput(value, undefined, name);
  if (checked.ok) return JSON.parse(checked.json) as T;
  throw new Refused("bad_value", checked.error.message);
}

export function noConnection(name: string): never {
  throw new Terminal(
    "connection_missing",
    `connection ${JSON.stringify(name)} is not known to this local run; give \`connection\`, such as connectionsFrom(process.env)`,
  );
}
