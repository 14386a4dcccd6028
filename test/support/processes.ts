import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { ROOT } from "./product.ts";

export interface Started {
  readonly child: ChildProcess;
  readonly output: () => string;
  /** SIGKILL to this very process, and waits for its end. */
  kill(signal?: NodeJS.Signals): Promise<void>;
}

/** A process of Meridian as an operator starts it: `meridian <args>`; resolves when it has printed `ready`. */
export async function startProcess(
  args: readonly string[],
  env: Record<string, string>,
  ready: RegExp,
): Promise<Started> {
  const child = spawn(process.execPath, [join(ROOT, "cli/meridian.mjs"), ...args], {
    cwd: ROOT,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const ended = new Promise<void>((done) => child.once("exit", () => done()));
  await new Promise<void>((done, failed) => {
    const timer = setTimeout(
      () => failed(new Error(`meridian ${args.join(" ")} was not ready:\n${output}`)),
      60_000,
    );
    const look = (): void => {
      if (!ready.test(output)) return;
      clearTimeout(timer);
      done();
    };
    child.stdout.on("data", look);
    child.stderr.on("data", look);
    child.once("exit", (code) => {
      clearTimeout(timer);
      failed(new Error(`meridian ${args.join(" ")} ended with ${code}:\n${output}`));
    });
  });
  return {
    child,
    output: () => output,
    kill: async (signal = "SIGKILL") => {
      child.kill(signal);
      await ended;
    },
  };
}
