import { fork, type ChildProcess } from "node:child_process";
import { bodyEnvironment, readLines, signalGroup } from "./process.ts";
import { STUB, type Channel, type ChannelEvents } from "./channel.ts";
import type { Ended, FromHost, ToHost } from "./messages.ts";

/** Between SIGTERM and SIGKILL. */
const TERM_MS = 1_000;
/** For output on its way when the process has ended; a pipe kept open by what escaped it is not waited for. */
const OUTPUT_MS = 500;
/** A process that SIGKILL does not end (it hangs in the kernel) is not waited for. */
const KILL_MS = 5_000;
/** For a process whose body has ended to go by itself, its output written. */
const LEAVE_MS = 1_000;

/** Starts a process for one body; `memoryMb` bounds its heap, and with the watchdog its resident memory. */
export function openChild(memoryMb: number, events: ChannelEvents): Channel {
  const child = fork(STUB, ["own", String(memoryMb), String(process.pid)], {
    execArgv: [`--max-old-space-size=${memoryMb}`],
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    env: bodyEnvironment(),
    // A group of its own, so that what the body spawned ends with it.
    detached: true,
  });
  let startError: Error | null = null;
  child.on("error", (error) => (startError = error));
  child.on("message", (message) => events.onMessage(message as FromHost));
  readLines(child.stdout!, (text) => events.onOutput("info", text));
  const tail = readLines(child.stderr!, (text) => events.onOutput("warn", text));
  const gone = new Promise<void>((resolve) => {
    let ended = false;
    const end = (): void => {
      if (ended) return;
      ended = true;
      child.stdout?.destroy();
      child.stderr?.destroy();
      resolve();
      events.onEnd(why(child, startError, memoryMb, tail()));
    };
    child.once("exit", () => {
      signalGroup(child, "SIGKILL");
      setTimeout(end, OUTPUT_MS).unref();
    });
    child.once("close", end);
    child.once("error", end);
  });
  const post = (message: ToHost): void => {
    if (child.connected) child.send(message, () => undefined);
  };
  const goneOrKilled = async (afterMs: number): Promise<boolean> => {
    const kill = setTimeout(() => signalGroup(child, "SIGKILL"), afterMs);
    let late: NodeJS.Timeout | undefined;
    const never = new Promise<boolean>((resolve) => {
      late = setTimeout(() => resolve(false), afterMs + KILL_MS);
    });
    const answer = await Promise.race([gone.then(() => true), never]);
    clearTimeout(kill);
    clearTimeout(late);
    return answer;
  };
  return {
    post,
    end: async () => {
      signalGroup(child, "SIGTERM");
      return await goneOrKilled(TERM_MS);
    },
    leave: async () => {
      post({ t: "exit" });
      await goneOrKilled(LEAVE_MS);
    },
    vitals: null,
  };
}

function why(child: ChildProcess, startError: Error | null, memoryMb: number, lastLine: string): Ended {
  if (startError !== null)
    return { code: "crashed", message: `its process did not start: ${startError.message}` };
  const { signalCode, exitCode } = child;
  if (signalCode === "SIGABRT" || lastLine.includes("resident memory over the limit")) {
    return { code: "out_of_memory", message: `its process used more than its ${memoryMb} MB of memory` };
  }
  if (signalCode !== null) return { code: "killed", message: `its process was ended by ${signalCode}` };
  return { code: "process_exit", message: `its process ended with exit code ${exitCode}` };
}
