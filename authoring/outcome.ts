/** What a body's thrown value means. Marks, names and codes decide, never `instanceof`: it may come from another realm. */
import type { BodyError, BodyOutcome } from "../core/body.ts";
import { tellOf, type AskedOfOutput } from "../core/decision.ts";
import { Terminal, type ErrorKind } from "../core/errors.ts";
import type { Deferral } from "../core/waits.ts";
import { DURATION_RULE, parseDuration } from "../core/duration.ts";
import { storableText, toOutput } from "./output.ts";
import { show } from "./show.ts";
import type { Duration } from "./types.ts";

const MARK = Symbol.for("meridian.outcome");
type Mark = "skip" | "fail" | "retry" | "wait" | "defer";
/** Of `retry` and `wait`: ms until the next try. */
const DELAY = Symbol.for("meridian.delay");
/** Of `defer`: what is waited for. */
const DEFERRAL = Symbol.for("meridian.deferral");

/** An error's text beyond this is cut: it is stored, sent and shown. */
const MESSAGE_LIMIT = 8_000;
const STACK_LIMIT = 16_000;

/**
 * Ends the task as skipped, from anywhere in its body. What waits for it is skipped too, unless its trigger rule
 * says otherwise.
 *
 * @example
 * if (rows.length === 0) skip(`no sales on ${ds}`);
 */
export function skip(reason = ""): never {
  throw marked("skip", "Skip", reason, {}, skip);
}

/**
 * Fails the task at once, whatever its `retries`: for faults that trying again cannot mend.
 *
 * @example
 * if (row.price < 0) fail(`negative price in row ${row.id}`);
 */
export function fail(message: string, options: { readonly cause?: unknown } = {}): never {
  throw marked("fail", "Fail", message, options, fail);
}

/**
 * Fails the try, and names the wait before the next one in place of the task's `retryDelay`. It uses up a retry; without
 * one left the task has failed.
 *
 * @example
 * if (answer.status === 429) retryAfter(Number(answer.headers.get("retry-after")) * 1000, "too many requests");
 */
export function retryAfter(delay: Duration, message = "", options: { readonly cause?: unknown } = {}): never {
  throw delayed("retry", "RetryAfter", delay, message, options, retryAfter);
}

/**
 * Ends the try and begins another after this wait; it uses up no retry, so the task goes on until it is done, fails or is
 * stopped. Between the tries it holds no slot.
 *
 * @example
 * if (!report.isReady) waitAndRetry("5m", "the report is not ready yet");
 */
export function waitAndRetry(
  delay: Duration,
  message = "",
  options: { readonly cause?: unknown } = {},
): never {
  throw delayed("wait", "WaitAndRetry", delay, message, options, waitAndRetry);
}

type Thrower = (...args: never[]) => unknown;

/** What is thrown by a body that waits. */
export function deferring(deferral: Deferral, message: string, thrower: Thrower): Error {
  return Object.assign(marked("defer", "Defer", message, {}, thrower), { [DEFERRAL]: deferral });
}

export function isDeferral(thrown: unknown): boolean {
  return read(() => (thrown as { [MARK]?: unknown } | null | undefined)?.[MARK]) === "defer";
}

function delayed(
  mark: Mark,
  name: string,
  delay: unknown,
  message: string,
  options: { cause?: unknown },
  thrower: Thrower,
): Error {
  const ms = parseDuration(delay);
  if (ms !== undefined) return Object.assign(marked(mark, name, message, options, thrower), { [DELAY]: ms });
  return new Terminal(
    "bad_delay",
    `${thrower.name}() is given ${show(delay)} as its delay; expected ${DURATION_RULE}`,
    options,
  );
}

/** Its stack begins in the author's code: above `thrower`. */
function marked(
  mark: Mark,
  name: string,
  message: string,
  options: { cause?: unknown },
  thrower: Thrower,
): Error {
  const error = Object.assign(new Error(message, options), { [MARK]: mark });
  Object.defineProperty(error, "name", { value: name, enumerable: false });
  Error.captureStackTrace(error, thrower);
  return error;
}

/** How a body that threw has ended. Never throws itself. */
export function outcomeOf(thrown: unknown): BodyOutcome {
  const mark = read(() => (thrown as { [MARK]?: unknown } | null | undefined)?.[MARK]);
  if (mark === "skip") return { kind: "skipped", message: messageOf(thrown) };
  if (mark === "defer") return { kind: "deferred", deferral: (thrown as { [DEFERRAL]: Deferral })[DEFERRAL] };
  return { kind: "failed", error: bodyErrorOf(thrown) };
}

/** How a body that returned has ended: an output that cannot be stored is a failure. Never throws. */
export function outcomeOfReturn(value: unknown, asked: AskedOfOutput = {}): BodyOutcome {
  const checked = toOutput(value);
  if (!checked.ok) return { kind: "failed", error: checked.error };
  const told = tellOf(value, asked);
  if ("error" in told) return { kind: "failed", error: told.error };
  return { kind: "success", output: JSON.parse(checked.json) as unknown, ...told };
}

function bodyErrorOf(thrown: unknown): BodyError {
  const stack = stackText(thrown);
  return {
    code: codeOf(thrown),
    message: messageOf(thrown),
    ...(stack === undefined ? {} : { stack }),
    retryable: isRetryable(thrown),
    ...delayOf(thrown),
  };
}

/** What the error itself says of the next try. */
function delayOf(thrown: unknown): Pick<BodyError, "retryDelayMs" | "waits"> {
  const mark = read(() => (thrown as { [MARK]?: unknown })[MARK]);
  const delay = read(() => (thrown as { [DELAY]?: unknown })[DELAY]);
  if ((mark !== "retry" && mark !== "wait") || typeof delay !== "number") return {};
  return { retryDelayMs: delay, waits: mark === "wait" };
}

/** The kinds of our own errors that another try may mend; an author's own class always may. */
const RETRYABLE_KIND: Readonly<Record<ErrorKind, boolean>> = {
  definition: false,
  refused: false,
  not_found: true,
  conflict: true,
  limited: true,
  retryable: true,
  terminal: false,
};
const OUR_NAMES: readonly unknown[] = [
  "DefinitionError",
  "Refused",
  "NotFound",
  "Conflict",
  "Limited",
  "Retryable",
  "Terminal",
];

function isRetryable(thrown: unknown): boolean {
  if (read(() => (thrown as { [MARK]?: unknown })[MARK]) === "fail") return false;
  if (!isOurs(thrown)) return true;
  return RETRYABLE_KIND[(thrown as { kind: ErrorKind }).kind] ?? true;
}

function isOurs(thrown: unknown): boolean {
  return (
    read(
      () =>
        OUR_NAMES.includes((thrown as Error).name) && typeof (thrown as { code?: unknown }).code === "string",
    ) === true
  );
}

/** A code of ours, or the name of the error's class. */
function codeOf(thrown: unknown): string {
  if (isOurs(thrown)) return (thrown as unknown as { code: string }).code;
  if (typeof thrown !== "object" || thrown === null) return "Error";
  const name = read(() => (thrown as Error).name);
  const className = read(() => thrown.constructor.name);
  const code = name === undefined || name === "" || name === "Error" ? className : name;
  return typeof code === "string" && code !== "" ? storableText(code.slice(0, 200)) : "Error";
}

/** An error of Node's network layer may hold its text only in the errors it collects. */
function messageOf(thrown: unknown): string {
  const own = read(() =>
    typeof thrown === "object" && thrown !== null ? (thrown as Error).message : thrown,
  );
  if (typeof own === "string" && own !== "") return cut(own, MESSAGE_LIMIT);
  if (typeof thrown !== "object" || thrown === null)
    return thrown === "" ? "" : cut(read(() => String(thrown)) ?? "", MESSAGE_LIMIT);
  const inner = read(() => (thrown as AggregateError).errors.map((error: Error) => error.message).join("; "));
  if (typeof inner === "string" && inner !== "") return cut(inner, MESSAGE_LIMIT);
  const code = read(() => (thrown as { code?: unknown }).code);
  if (typeof code === "string") return cut(code, MESSAGE_LIMIT);
  return typeof own === "string" ? own : cut(read(() => JSON.stringify(thrown)) ?? "", MESSAGE_LIMIT);
}

/** Of a thrown or logged error: its stack, with those of its causes. An error of ours is named by its code. */
export function stackText(thrown: unknown): string | undefined {
  const stacks: string[] = [];
  let error: unknown = thrown;
  for (let depth = 0; depth < 5 && typeof error === "object" && error !== null; depth++) {
    const stack = read(() => (error as Error).stack);
    if (typeof stack === "string") stacks.push(isOurs(error) ? byCode(stack, error as OurError) : stack);
    error = read(() => (error as Error).cause);
  }
  return stacks.length === 0 ? undefined : cut(stacks.join("\ncaused by: "), STACK_LIMIT);
}

interface OurError {
  readonly code: string;
  readonly name: string;
}

/** The names of our classes are ours alone. */
function byCode(stack: string, { code, name }: OurError): string {
  const head = [name, "Error"].find((one) => stack.startsWith(`${one}:`));
  return head === undefined ? stack : `${code}${stack.slice(head.length)}`;
}

function cut(text: string, limit: number): string {
  return storableText(
    text.length > limit ? `${text.slice(0, limit)}… (${text.length - limit} more characters)` : text,
  );
}

/** A thrown value may be anything, a proxy that throws included. */
function read<T>(get: () => T): T | undefined {
  try {
    return get();
  } catch {
    return undefined;
  }
}
