// Entry of body threads and body processes. On Node 20 neither inherits tsx from its parent, so it is registered here.
import { isMainThread, Worker } from "node:worker_threads";
import { register } from "tsx/esm/api";

if (isMainThread) {
  const [memoryMb, parent] = process.argv.slice(2).map(Number);
  // Beyond the heap limit lie Node itself, tsx and buffers.
  const maxRssBytes = (memoryMb * 1.5 + 256) * 2 ** 20;
  const watchdog = new Worker(new URL("./watchdog.mjs", import.meta.url), {
    workerData: { parent, maxRssBytes },
    execArgv: [],
    stdout: false,
  });
  watchdog.unref();
}
register();
await import("./main.ts");
