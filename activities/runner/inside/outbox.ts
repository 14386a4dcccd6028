import type { LogLine } from "../../../core/body.ts";
import { CELL } from "../messages.ts";
import type { Port } from "./port.ts";

/** Lines posted one by one in a turn of the event loop before batching begins: a body that logs and then blocks is still heard. */
const AT_ONCE = 16;
const BATCH_CHARS = 256 * 1024;
const BATCH_MS = 20;
/** Log text on its way to the runner at which the writer is held back, as a full pipe would. */
const IN_FLIGHT_CHARS = 16 * 1024 * 1024;
const HOLD_MS = 2_000;

/** Sends log lines in order, batched within a turn of the event loop. */
export class Outbox {
  readonly #port: Port;
  #n = 0;
  #lines: LogLine[] = [];
  #chars = 0;
  #thisTurn = 0;
  #lastPostAt = 0;
  #turnEnds = false;

  constructor(port: Port) {
    this.#port = port;
  }

  line(n: number, line: LogLine): void {
    if (n !== this.#n) this.flush();
    this.#n = n;
    this.#lines.push(line);
    this.#chars += line.text.length + 32;
    this.#thisTurn += 1;
    if (
      this.#thisTurn <= AT_ONCE ||
      this.#chars >= BATCH_CHARS ||
      performance.now() - this.#lastPostAt > BATCH_MS
    ) {
      this.flush();
    }
    if (this.#turnEnds) return;
    this.#turnEnds = true;
    setImmediate(() => {
      this.#turnEnds = false;
      this.#thisTurn = 0;
      this.flush();
    });
  }

  flush(): void {
    if (this.#lines.length === 0) return;
    const { cells, shared } = this.#port;
    const size = this.#chars;
    this.#port.post({ t: "lines", n: this.#n, lines: this.#lines, size });
    this.#lines = [];
    this.#chars = 0;
    this.#lastPostAt = performance.now();
    if (shared) holdBack(cells, size);
  }
}

function holdBack(cells: Int32Array<SharedArrayBuffer>, size: number): void {
  const posted = (Atomics.add(cells, CELL.posted, size) + size) | 0;
  const until = performance.now() + HOLD_MS;
  for (;;) {
    const handled = Atomics.load(cells, CELL.handled);
    if (((posted - handled) | 0) < IN_FLIGHT_CHARS || performance.now() > until) return;
    Atomics.wait(cells, CELL.handled, handled, 50);
  }
}
