import type { ChildProcess } from "node:child_process";
import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";

/** A text without a line end is cut into pieces of this length. */
const PARTIAL_CHARS = 8 * 1024 * 1024;

/** What a body may see of the environment: connections reach it by `connection(name)` only. */
export function bodyEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith("MERIDIAN_CONN_")),
  );
}

/** To a process started as the head of a group, and all that it has spawned. */
export function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(process.platform === "win32" ? child.pid : -child.pid, signal);
  } catch {
    // Gone already.
  }
}

/** Reads whole lines; answers a function that tells the last one. */
export function readLines(stream: Readable, onLine: (text: string) => void): () => string {
  const decoder = new StringDecoder("utf8");
  let partial = "";
  let last = "";
  const take = (text: string): void => {
    const whole = (partial + text).split("\n");
    partial = whole.pop() ?? "";
    if (partial.length > PARTIAL_CHARS) {
      whole.push(partial);
      partial = "";
    }
    for (const line of whole) onLine((last = line));
  };
  stream.on("data", (chunk: Buffer) => take(decoder.write(chunk)));
  stream.on("end", () => {
    take(decoder.end());
    if (partial !== "") onLine((last = partial));
  });
  return () => last;
}
