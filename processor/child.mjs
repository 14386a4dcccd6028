// Node 20 gives a child no loader for TypeScript: this stub registers one, once the watchdog is up.
import { Worker } from "node:worker_threads";
import { register } from "tsx/esm/api";

new Worker(new URL("./watchdog.mjs", import.meta.url), {
  workerData: { parent: process.ppid, maxRssBytes: Number(process.argv[2]) },
  execArgv: [],
}).unref();

register();
await import("./child.ts");
