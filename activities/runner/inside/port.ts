import { isMainThread, parentPort, workerData } from "node:worker_threads";
import { CELLS, type FromHost, type ThreadData, type ToHost } from "../messages.ts";

/** The way to the runner, from a thread or from a child process. */
export interface Port {
  post(message: FromHost): void;
  onMessage(handler: (message: ToHost) => void): void;
  /** Shared with the runner in a thread; private, and so without meaning, in a child process. */
  readonly cells: Int32Array<SharedArrayBuffer>;
  readonly shared: boolean;
}

export function openPort(): Port {
  return isMainThread ? processPort() : threadPort();
}

function threadPort(): Port {
  const port = parentPort;
  if (port === null) throw new Error("a body thread needs its parent");
  const { cells } = workerData as ThreadData;
  return {
    post: (message) => port.postMessage(message),
    onMessage: (handler) => void port.on("message", handler),
    cells: new Int32Array(cells),
    shared: true,
  };
}

function processPort(): Port {
  const send = process.send?.bind(process);
  if (send === undefined) throw new Error("a body process needs its parent");
  // The parent is gone: nobody hears the outcome, and another worker will run this try again.
  const group = process.platform === "win32" ? process.pid : -process.pid;
  process.on("disconnect", () => process.kill(group, "SIGKILL"));
  return {
    post: (message) => void send(message),
    onMessage: (handler) => void process.on("message", (message) => handler(message as ToHost)),
    cells: new Int32Array(new SharedArrayBuffer(CELLS * 4)),
    shared: false,
  };
}
