import { getHeapStatistics } from "node:v8";
import { CELL, TICK_MS } from "../messages.ts";
import { BodyHost } from "./body-host.ts";
import { captureOutput } from "./capture.ts";
import { guard } from "./guard.ts";
import { openPort } from "./port.ts";

/** Coarse, so that small changes are no news. */
const HEAP_STEP_MB = 8;
const HEAP_STEP = HEAP_STEP_MB * 2 ** 20;

process.setSourceMapsEnabled(true);

const port = openPort();
const host = new BodyHost(port);
captureOutput((text) => host.masked(text));
guard(host);

let ticks = 1;
Atomics.store(port.cells, CELL.ticks, ticks);
const timer = setInterval(() => {
  Atomics.store(port.cells, CELL.ticks, (ticks = (ticks + 1) | 0));
  if (ticks % 4 === 0) {
    Atomics.store(
      port.cells,
      CELL.heapMb,
      Math.round(getHeapStatistics().used_heap_size / HEAP_STEP) * HEAP_STEP_MB,
    );
  }
}, TICK_MS);
timer.unref();

port.onMessage((message) => host.take(message));
port.post({ t: "ready" });
