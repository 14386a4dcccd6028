import { Worker } from "node:worker_threads";
import { STUB, type Channel, type ChannelEvents, type Ended } from "./channel.ts";
import { CELLS, type FromHost, type ThreadData } from "./messages.ts";

/** A thread inside native code (say `execSync`) cannot be interrupted; its bodies are not awaited longer than this. */
const TERMINATE_MS = 5_000;

/** Starts a thread for bodies; `memoryMb` bounds its heap. */
export function openThread(name: string, memoryMb: number, events: ChannelEvents): Channel {
  const cells = new SharedArrayBuffer(CELLS * 4);
  const workerData: ThreadData = { cells };
  const worker = new Worker(STUB, {
    name,
    workerData,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  });
  let why: Ended | null = null;
  worker.on("message", (message: FromHost) => events.onMessage(message));
  worker.on("error", (error: Error & { code?: string }) => {
    why = {
      code: error.code === "ERR_WORKER_OUT_OF_MEMORY" ? "out_of_memory" : "crashed",
      message:
        error.code === "ERR_WORKER_OUT_OF_MEMORY"
          ? `the thread used more than its ${memoryMb} MB of memory`
          : `the thread ended: ${error.message}`,
    };
  });
  const gone = new Promise<void>((resolve) => {
    worker.once("exit", (code) => {
      resolve();
      events.onEnd(why ?? { code: "process_exit", message: `the thread ended with exit code ${code}` });
    });
  });
  worker.unref();
  return {
    post: (message) => worker.postMessage(message),
    end: () => endWithin(worker.terminate(), gone),
    hold: (on) => (on ? worker.ref() : worker.unref()),
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
