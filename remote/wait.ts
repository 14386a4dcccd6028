import type { Cell, Changes, Run, RunDetail } from "../api/contracts.ts";
import { RUN_DONE } from "../core/states.ts";
import { ApiError } from "./errors.ts";
import { type CallOptions, rest } from "./http.ts";

export interface WaitOptions extends CallOptions {
  /** After so long the wait is given up with the error `wait_timeout`, ms; the run goes on. Default: never. */
  readonly timeoutMs?: number | undefined;
  /** Hears of each change of the run that was seen, its state now included. */
  readonly onRun?: ((run: Run) => void) | undefined;
  /** Hears of its tasks: first of all there are, then of each that has another state or try. */
  readonly onCells?: ((cells: readonly Cell[]) => void) | undefined;
}

/** Events tell at once; the run is looked at beside them, in case the stream is away. */
const POLL_MS = 2_000;

/** The run once it has ended. */
export async function waitForRun(
  read: (signal: AbortSignal) => Promise<RunDetail>,
  events: (signal: AbortSignal) => AsyncIterable<{ readonly changes: Changes | null }>,
  which: { readonly dagId: string; readonly runId: string },
  options: WaitOptions,
): Promise<RunDetail> {
  const { timeoutMs, onRun, onCells } = options;
  const isOurs = (one: { readonly dagId: string; readonly runId: string }): boolean =>
    one.dagId === which.dagId && one.runId === which.runId;
  const ending = new AbortController();
  const late = timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)];
  const given = options.signal === undefined ? [] : [options.signal];
  const signal = AbortSignal.any([ending.signal, ...late, ...given]);
  let wake = new AbortController();
  let state: Run["state"] | null = null;
  const heard = (run: Run): void => {
    if (run.state === state) return;
    state = run.state;
    onRun?.(run);
  };
  const told = new Map<string, string>();
  const heardCells = (cells: readonly Cell[]): void => {
    const news = cells.filter((cell) => {
      const key = `${cell.taskId} ${cell.mapIndex}`;
      const now = `${cell.state} ${cell.try}`;
      const isNew = told.get(key) !== now;
      told.set(key, now);
      return isNew;
    });
    if (news.length > 0) onCells?.(news);
  };
  const listening = (async () => {
    for await (const { changes } of events(signal)) {
      const run = changes?.runs.find(isOurs);
      heardCells(changes?.cells.filter(isOurs).flatMap((one) => one.cells) ?? []);
      if (run !== undefined && state !== null) heard(run);
      if (run !== undefined || changes === null) wake.abort();
    }
    // What went wrong with the stream shows in the polls too.
  })().catch(() => undefined);
  try {
    for (;;) {
      wake = new AbortController();
      const run = await read(signal);
      heardCells(run.cells);
      heard(run);
      if (RUN_DONE[run.state]) return run;
      const rested = rest(POLL_MS, AbortSignal.any([signal, wake.signal]));
      await rested.catch((error: unknown) => {
        if (signal.aborted) throw error;
      });
    }
  } catch (error) {
    options.signal?.throwIfAborted();
    if (late[0]?.aborted !== true) throw error;
    const text = `run "${which.runId}" of dag "${which.dagId}" is ${state ?? "not read yet"} after ${timeoutMs} ms: it goes on; wait longer`;
    throw new ApiError(0, "retryable", "wait_timeout", text, { cause: error });
  } finally {
    ending.abort();
    await listening;
  }
}
