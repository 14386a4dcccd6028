// Entry of the process that holds the body threads ("pool"), of each thread, and of a process for one body ("own").
// On Node 20 neither thread nor process inherits tsx from its parent, so it is registered here.
import { isMainThread, Worker } from "node:worker_threads";
import { register } from "tsx/esm/api";

const [role, memoryMb, parent] = isMainThread ? process.argv.slice(2) : ["thread"];
if (role === "own") {
  // Beyond the heap limit lie Node itself, tsx and buffers.
  const maxRssBytes = (Number(memoryMb) * 1.5 + 256) * 2 ** 20;
  new Worker(new URL("./watchdog.mjs", import.meta.url), {
    workerData: { parent: Number(parent), maxRssBytes },
    execArgv: [],
  }).unref();
}
register();
await import(role === "pool" ? "./pool.ts" : "./main.ts");
