/**
 * A thread of the child, beside imported code that may never give its own thread back: ends the process when its
 * parent is gone, and when it holds more memory than the heap limit sees (buffers).
 */
import { writeSync } from "node:fs";
import { workerData } from "node:worker_threads";

const EVERY_MS = 250;
const { parent, maxRssBytes } = workerData as { parent: number; maxRssBytes: number };

setInterval(() => {
  if (process.ppid !== parent || !isAlive(parent)) process.kill(process.pid, "SIGKILL");
  if (process.memoryUsage.rss() > maxRssBytes) {
    writeSync(2, "\nmeridian: resident memory over the limit\n");
    process.kill(process.pid, "SIGKILL");
  }
}, EVERY_MS);

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
