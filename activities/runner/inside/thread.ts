import { Worker } from "node:worker_threads";
import { CELLS, isFromHost, type Ended, type FromHost, type ThreadData, type ToHost } from "../messages.ts";

/** A thread inside native code (say `execSync`) cannot be interrupted; its bodies are not awaited longer than this. */
const TERMINATE_MS = 3_000;
const STUB = new URL("./start.mjs", import.meta.url);

export interface ThreadEvents {
  readonly onMessage: (message: FromHost) => void;
  readonly onEnd: (why: Ended) => void;
}

export interface Thread {
  post(message: ToHost): void;
  /** Resolves when its code has stopped, or could not be stopped in a few seconds (false). */
  end(): Promise<boolean>;
  readonly cells: Int32Array<SharedArrayBuffer>;
}

/** Starts a thread for bodies; `memoryMb` bounds its heap. */
export function openThread(name: string, memoryMb: number, events: ThreadEvents): Thread {
  const cells = new SharedArrayBuffer(CELLS * 4);
  const workerData: ThreadData = { cells };
  const worker = new Worker(STUB, {
    name,
    workerData,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  });
  let why: Ended | null = null;
  // A body can reach the channel too, and say anything there.
  worker.on("message", (message: unknown) => {
    if (isFromHost(message)) events.onMessage(message);
  });
  worker.on("error", (error: unknown) => {
    // Whatever was thrown: null too.
    const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
    why =
      code === "ERR_WORKER_OUT_OF_MEMORY"
        ? { code: "out_of_memory", message: `the thread used more than its ${memoryMb} MB of memory` }
        : {
            code: "crashed",
            message: `the thread ended: ${typeof message === "string" ? message : "thrown: no error"}`,
          };
  });
  const gone = new Promise<void>((resolve) => {
    worker.once("exit", (code) => {
      resolve();
      events.onEnd(why ?? { code: "process_exit", message: `the thread ended with exit code ${code}` });
    });
  });
  return {
    post: (message) => worker.postMessage(message),
    end: () => endWithin(worker.terminate(), gone),
    cells: new Int32Array(cells),
  };
}

async function endWithin(terminated: Promise<unknown>, gone: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), TERMINATE_MS);
  });
  const ended = Promise.all([terminated, gone]).then(() => true);
  const answer = await Promise.race([ended, late]);
  clearTimeout(timer);
  return answer;
}
