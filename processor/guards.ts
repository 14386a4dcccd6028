/**
 * In the child: notes what a file must not do while it is imported, namely read the clock, use randomness, or reach the
 * network, by replacing the functions that do. A file is held to what is called from its own code (`isOwn`): what a
 * package does when it is loaded comes to whichever file of a shared child imports it first.
 */
import crypto from "node:crypto";
import dgram from "node:dgram";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import { DefinitionError } from "../core/errors.ts";
import { networkMessage } from "./network-message.ts";
import type { ImportHow, ImpureCall } from "./protocol.ts";

/** Another year, month, weekday, hour, minute and second. */
const SHIFT_MS = 400 * 86_400_000 + 3_661_001;
/** Stacks looked at for one file and kind: a package may read the clock a million times. */
const LOOKS = 1_000;
const FRAMES = 60;

interface Watch {
  /** In the names of the file's own modules. */
  readonly name: string;
  readonly strict: boolean;
  readonly shiftMs: number;
  readonly calls: Map<ImpureCall["kind"], ImpureCall>;
  readonly looks: Map<ImpureCall["kind"], number>;
}

let watch: Watch | undefined;

/** From now on calls are held against the module whose file name contains `name`. */
export function beginWatch(name: string, { strict, shifted }: ImportHow): void {
  watch = { name, strict, shiftMs: shifted ? SHIFT_MS : 0, calls: new Map(), looks: new Map() };
}

/** The first call of each kind. */
export function endWatch(): ImpureCall[] {
  const calls = [...(watch?.calls.values() ?? [])];
  watch = undefined;
  return calls;
}

/** True when the call is one that the file is held to. */
function note(kind: ImpureCall["kind"], call: string): boolean {
  if (watch === undefined || watch.calls.has(kind)) return watch !== undefined && kind === "network";
  const looks = (watch.looks.get(kind) ?? 0) + 1;
  watch.looks.set(kind, looks);
  if (looks > LOOKS || !(watch.strict || isOwn(watch.name))) return false;
  watch.calls.set(kind, { kind, call, stack: stackOf(call) });
  return true;
}

/** Whether the file's own code is on the stack. Names are asked raw: in a printed stack they are mapped to sources. */
function isOwn(name: string): boolean {
  const { stackTraceLimit } = Error;
  // Put back as it is, never called here.
  // oxlint-disable-next-line typescript/unbound-method
  const { prepareStackTrace } = Error;
  try {
    Error.stackTraceLimit = FRAMES;
    Error.prepareStackTrace = (_, sites) => sites.map((site) => site.getFileName() ?? "");
    const files = new Error().stack as unknown as readonly string[];
    return files.some((file) => file.includes(name));
  } finally {
    Error.prepareStackTrace = prepareStackTrace;
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function stackOf(call: string): string {
  const { stackTraceLimit } = Error;
  try {
    Error.stackTraceLimit = FRAMES;
    return new Error(call).stack ?? "";
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Replaces them for the life of the process; what comes before is not seen. */
export function installGuards(): void {
  guardClock();
  guardRandomness();
  guardNetwork();
  syncBuiltinESMExports();
}

function guardClock(): void {
  const RealDate = Date;
  const realNow = Date.now.bind(Date);
  const now = (call: string): number => {
    note("clock", call);
    return realNow() + (watch?.shiftMs ?? 0);
  };
  RealDate.now = () => now("Date.now()");
  const guarded = new Proxy(RealDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [now("new Date()")] : args, newTarget) as object,
    apply: () => new RealDate(now("Date()")).toString(),
  });
  RealDate.prototype.constructor = guarded;
  globalThis.Date = guarded;
  const realPerformanceNow = performance.now.bind(performance);
  performance.now = () => {
    note("clock", "performance.now()");
    return realPerformanceNow() + (watch?.shiftMs ?? 0);
  };
}

function guardRandomness(): void {
  replace(Math, "random", "Math.random()");
  replace(crypto, "randomUUID", "randomUUID()");
  replace(crypto, "randomBytes", "randomBytes()");
  replace(crypto, "randomInt", "randomInt()");
  replace(globalThis.crypto, "randomUUID", "crypto.randomUUID()");
  replace(globalThis.crypto, "getRandomValues", "crypto.getRandomValues()");
}

function replace<T extends object>(holder: T, name: keyof T, call: string): void {
  const real = holder[name] as (...args: unknown[]) => unknown;
  const guarded = (...args: unknown[]): unknown => {
    note("random", call);
    return real.apply(holder, args);
  };
  Object.defineProperty(holder, name, { value: guarded, configurable: true, writable: true });
}

function guardNetwork(): void {
  const realFetch = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    refuse(`fetch(${short(input instanceof Request ? input.url : String(input))})`);
    return await realFetch(input, init);
  };
  for (const [holder, name] of [
    [net.Socket.prototype, "connect"],
    [dgram.Socket.prototype, "connect"],
    [dgram.Socket.prototype, "send"],
  ] as const) {
    const methods = holder as unknown as Record<string, (...args: unknown[]) => unknown>;
    const real = methods[name]!;
    methods[name] = function (this: unknown, ...args: unknown[]): unknown {
      refuse(`a connection${target(args)}`);
      return real.apply(this, args);
    };
  }
}

function refuse(call: string): void {
  if (note("network", call)) {
    throw new DefinitionError("network_at_import", networkMessage(call));
  }
}

/** " to HOST:PORT", as far as it can be told from what `connect` is given. */
function target(args: readonly unknown[]): string {
  const [first, second] = Array.isArray(args[0]) ? (args[0] as unknown[]) : args;
  const given = (typeof first === "object" && first !== null ? first : { port: first, host: second }) as {
    host?: unknown;
    port?: unknown;
    path?: unknown;
  };
  if (typeof given.path === "string") return ` to ${short(given.path)}`;
  const { port } = given;
  const host = typeof given.host === "string" ? given.host : "localhost";
  return typeof port === "number" || typeof port === "string" ? ` to ${short(`${host}:${port}`)}` : "";
}

const short = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text);
