import type { BodyContext, LogLine } from "../core/body.ts";
import { Terminal } from "../core/errors.ts";
import { didYouMean } from "../core/suggest.ts";
import { stackText } from "./outcome.ts";
import { storableText } from "./output.ts";
import { refIn } from "./ref.ts";
import { show } from "./show.ts";
import type { Log, TaskContext } from "./types.ts";

/** What the surroundings give to a body. */
export interface BodyServices {
  /** Takes one line of the try's log. */
  readonly log: (level: LogLine["level"], text: string) => void;
  readonly signal: AbortSignal;
  /** The connection text of this name; throws when there is none. */
  readonly connection: (name: string) => string;
}

/**
 * The context handed to a body. Inputs of upstream tasks that have no output are to be absent from `inputs`.
 *
 * @example
 * const context = makeContext(data, { rows: [1, 2] }, { log: (level, text) => lines.push({ level, text }), signal, connection });
 * await dag.bodyOf(data.taskId)?.(context);
 */
export function makeContext(
  data: BodyContext,
  inputs: Readonly<Record<string, unknown>>,
  services: BodyServices,
): TaskContext {
  return Object.freeze({
    inputs,
    // As they are when the DAG has no schema and the task no templates; `Dag.ready` fills them in.
    params: data.conf,
    templates: {},
    dagId: data.dagId,
    runId: data.runId,
    taskId: data.taskId,
    mapIndex: data.mapIndex < 0 ? null : data.mapIndex,
    runType: data.runType,
    try: data.try,
    tryNumber: data.try,
    maxTries: data.maxTries,
    logicalDate: new Date(data.logicalDate),
    dataInterval: Object.freeze({
      start: new Date(data.dataInterval.start),
      end: new Date(data.dataInterval.end),
    }),
    ds: data.ds,
    dsNodash: data.ds.replaceAll("-", ""),
    zone: data.zone,
    conf: data.conf,
    resumed: resumedOf(data.resumed),
    waitUrl: (task?: { readonly id: string } | string) => waitUrlOf(data, task),
    log: makeLog((level, text) => services.log(level, text)),
    signal: services.signal,
    connection: (name: string) => services.connection(name),
  });
}

/** On its way here what is null or undefined may be left out. */
function resumedOf(given: BodyContext["resumed"]): TaskContext["resumed"] {
  if (given === undefined) return undefined;
  return Object.freeze({ payload: given.payload ?? null, state: given.state });
}

function waitUrlOf({ dagId, taskId, waitUrls = {} }: BodyContext, task: unknown): string {
  const id = task === undefined ? taskId : (refIn(task)?.id ?? task);
  if (typeof id === "string" && Object.hasOwn(waitUrls, id)) return waitUrls[id]!;
  const known = Object.keys(waitUrls);
  const hint = typeof id === "string" ? didYouMean(id, known) : "";
  const they = `; they are ${known.join(", ")}; one of a mapped group is known to the tasks inside of it alone`;
  throw new Terminal(
    "no_wait",
    `waitUrl() is given ${show(id)}, which is no wait of dag "${dagId}" that somebody could end${hint || they}`,
  );
}

function makeLog(write: BodyServices["log"]): Log {
  const at =
    (level: LogLine["level"]) =>
    (...parts: readonly unknown[]) =>
      write(level, storableText(parts.map(partText).join(" ")));
  return Object.freeze({ debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") });
}

/** Logging never fails a body: what cannot be shown is named by its type. */
function partText(part: unknown): string {
  try {
    if (typeof part === "string") return part;
    if (typeof part === "bigint") return `${part}n`;
    if (typeof part !== "object" || part === null) return String(part);
    return stackText(part) ?? jsonText(part);
  } catch {
    return Object.prototype.toString.call(part);
  }
}

function jsonText(part: object): string {
  return JSON.stringify(part, (_key, value: unknown) => (typeof value === "bigint" ? `${value}n` : value));
}
