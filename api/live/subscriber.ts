import type { Cell, Changes, Run } from "../contracts.ts";
import { type Batch, idOf, type Point } from "./changes.ts";

export type LiveEvent =
  | { readonly kind: "changes"; readonly id: string; readonly changes: Changes }
  | { readonly kind: "reload"; readonly id: string };

/** Changes that wait for a subscriber who reads slowly; with more he reads everything anew instead. */
const MOST_WAITING = 20_000;

/** What one subscriber has not been told yet: the last state of each thing, however often it changed. */
export class Subscriber {
  readonly dagId: string | null;
  readonly #runs = new Map<number, Run>();
  readonly #cells = new Map<number, { dagId: string; runId: string; cells: Map<string, Cell> }>();
  readonly #dags = new Set<string>();
  #dial = false;
  #size = 0;
  #reload = false;
  #at: Point;
  #ready = true;
  #wake: () => void = () => undefined;

  /** Its first event comes at once, empty: from then on nothing is missed. */
  constructor(dagId: string | null, at: Point, first: "changes" | "reload" = "changes") {
    this.dagId = dagId;
    this.#at = at;
    this.#reload = first === "reload";
  }

  add(batch: Batch): void {
    this.#at = batch.to;
    const isOurs = (dagId: string): boolean => this.dagId === null || this.dagId === dagId;
    if (!this.#reload) {
      for (const { run, shown } of batch.runs) if (isOurs(shown.dagId)) this.#runs.set(run, shown);
      for (const dagId of batch.dags) if (isOurs(dagId)) this.#dags.add(dagId);
      this.#dial ||= batch.dial;
      if (this.dagId !== null) for (const one of batch.cells) if (isOurs(one.dagId)) this.#addCells(one);
      if (this.#size + this.#runs.size + this.#dags.size > MOST_WAITING) this.#startAnew();
    }
    if (this.#reload || this.#dial || this.#runs.size + this.#dags.size + this.#size > 0) {
      this.#ready = true;
      this.#wake();
    }
  }

  /** The next event; null when the signal came first. */
  async next(signal: AbortSignal): Promise<LiveEvent | null> {
    while (!this.#ready) {
      if (signal.aborted) return null;
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          signal.removeEventListener("abort", wake);
          resolve();
        };
        this.#wake = wake;
        signal.addEventListener("abort", wake, { once: true });
      });
    }
    if (signal.aborted) return null;
    this.#ready = false;
    const id = idOf(this.#at);
    if (this.#reload) {
      this.#reload = false;
      return { kind: "reload", id };
    }
    const changes: Changes = {
      runs: [...this.#runs.values()],
      cells: [...this.#cells.values()].map(({ cells, ...run }) => ({ ...run, cells: [...cells.values()] })),
      dags: [...this.#dags],
      ...(this.#dial && { dial: true }),
    };
    this.#clear();
    return { kind: "changes", id, changes };
  }

  #addCells({ run, dagId, runId, cells }: Batch["cells"][number]): void {
    const known = this.#cells.get(run) ?? { dagId, runId, cells: new Map<string, Cell>() };
    this.#cells.set(run, known);
    this.#size -= known.cells.size;
    for (const cell of cells) known.cells.set(`${cell.taskId} ${cell.mapIndex}`, cell);
    this.#size += known.cells.size;
  }

  #startAnew(): void {
    this.#clear();
    this.#reload = true;
  }

  #clear(): void {
    this.#runs.clear();
    this.#cells.clear();
    this.#dags.clear();
    this.#dial = false;
    this.#size = 0;
  }
}
