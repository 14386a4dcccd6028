// Runs beside a body that has a process of its own and may never give its thread back: ends the process, and what
// it has spawned, when its parent is gone or when it holds more memory than the heap limit can see (buffers).
import { writeSync } from "node:fs";
import { workerData } from "node:worker_threads";

const EVERY_MS = 250;
const { parent, maxRssBytes } = workerData;

setInterval(() => {
  if (process.ppid !== parent) end();
  if (process.memoryUsage.rss() > maxRssBytes) {
    writeSync(2, "\nresident memory over the limit\n");
    end();
  }
}, EVERY_MS);

function end() {
  process.kill(process.platform === "win32" ? process.pid : -process.pid, "SIGKILL");
}
