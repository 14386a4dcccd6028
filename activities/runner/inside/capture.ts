import { Console } from "node:console";
import { format } from "node:util";
import { StringDecoder } from "node:string_decoder";
import type { LogLine } from "../../../core/body.ts";
import { currentScope, type Scope } from "./scope.ts";

type Level = LogLine["level"];
type Method = (...args: unknown[]) => void;

const LEVELS: Record<string, Level> = {
  debug: "debug",
  warn: "warn",
  error: "error",
  trace: "debug",
  assert: "error",
};

/** A text without a line end is cut into pieces of this length. */
const PARTIAL_CHARS = 8 * 1024 * 1024;

/**
 * Sends `console.*`, and writes to stdout and stderr, to the log of the try whose code is running. What belongs to
 * none (a try that has ended) goes the usual way, masked.
 */
export function captureOutput(mask: (text: string) => string): void {
  const global = console as unknown as Record<string, unknown>;
  for (const [name, original] of Object.entries(global)) {
    if (typeof original !== "function" || name === "Console") continue;
    const level = LEVELS[name] ?? "info";
    global[name] = (...args: unknown[]): void => {
      const scope = currentScope();
      if (scope === undefined) return (original as Method)(...args);
      callConsole(scope, name, level, args);
    };
  }
  captureStream(process.stdout, "info", mask);
  captureStream(process.stderr, "warn", mask);
}

/** The level of the console call being made; the console writes before it returns. */
let callLevel: Level = "info";

/** These only write their arguments: no Console needs to be made for a body that uses nothing else. */
const PLAIN = new Set(["debug", "info", "log", "warn", "error"]);

function callConsole(scope: Scope, name: string, level: Level, args: unknown[]): void {
  if (scope.console === null && PLAIN.has(name)) return scope.log(level, format(...args));
  scope.console ??= consoleOf(scope);
  const before = callLevel;
  callLevel = level;
  try {
    (scope.console as unknown as Record<string, Method>)[name]?.(...args);
  } finally {
    callLevel = before;
  }
}

function consoleOf(scope: Scope): Console {
  const sink = {
    write: (text: string): boolean => {
      scope.log(callLevel, text.endsWith("\n") ? text.slice(0, -1) : text);
      return true;
    },
    on: () => sink,
    once: () => sink,
    removeListener: () => sink,
    listenerCount: () => 0,
  };
  const stream = sink as unknown as NodeJS.WritableStream;
  return new Console({ stdout: stream, stderr: stream, colorMode: false });
}

interface Partial {
  readonly decoder: StringDecoder;
  text: string;
}

function captureStream(stream: NodeJS.WriteStream, level: Level, mask: (text: string) => string): void {
  const original = stream.write.bind(stream) as (...args: unknown[]) => boolean;
  const partials = new WeakMap<Scope, Partial>();
  const write = (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
    const scope = currentScope();
    if (scope === undefined) return original(typeof chunk === "string" ? mask(chunk) : chunk, ...rest);
    let partial = partials.get(scope);
    if (partial === undefined) {
      partial = { decoder: new StringDecoder("utf8"), text: "" };
      partials.set(scope, partial);
      addFlush(scope, partial, level);
    }
    const text = typeof chunk === "string" ? chunk : partial.decoder.write(Buffer.from(chunk));
    const lines = (partial.text + text).split("\n");
    partial.text = lines.pop() ?? "";
    if (partial.text.length > PARTIAL_CHARS) {
      lines.push(partial.text);
      partial.text = "";
    }
    for (const line of lines) scope.log(level, line);
    const done = rest.find((argument) => typeof argument === "function") as (() => void) | undefined;
    if (done !== undefined) process.nextTick(done);
    return true;
  };
  stream.write = write as typeof stream.write;
}

function addFlush(scope: Scope, partial: Partial, level: Level): void {
  const earlier = scope.flush;
  scope.flush = () => {
    earlier?.();
    const text = partial.text + partial.decoder.end();
    partial.text = "";
    if (text !== "") scope.log(level, text);
  };
}
