import { useEffect, useRef, useState } from "react";
import type { LogPiece } from "../../../api/contracts.ts";
import { Unreachable, getJson, queryOf } from "../api/fetch.ts";
import { taskPath } from "../api/queries.ts";
import { parseLog, type Line } from "./lines.ts";

export interface LogSource {
  readonly dagId: string;
  readonly runId: string;
  readonly taskId: string;
  readonly mapIndex: number;
  readonly tryNumber: number;
}

export interface LogTail {
  readonly lines: readonly Line[];
  readonly done: boolean;
  readonly error: Error | null;
}

/** How soon to ask for more: at once while pieces come full, else live enough to feel live. */
const TAIL_MS = 800;
const AWAY_MS = 2000;

const logPath = ({ dagId, runId, taskId, mapIndex, tryNumber }: LogSource, offset: number): string =>
  `${taskPath(dagId, runId, taskId)}/tries/${tryNumber}/log${queryOf({ mapIndex: mapIndex < 0 ? null : mapIndex, offset })}`;

/** Reads a log from its start, then follows it until it is done and its try has ended. Rests while the tab is hidden. */
export function useLogTail(source: LogSource, running: boolean): LogTail {
  const [tail, setTail] = useState<LogTail>({ lines: [], done: false, error: null });
  const key = logPath(source, 0);
  const latest = useRef({ source, running });
  latest.current = { source, running };
  useEffect(() => {
    const stop = new AbortController();
    setTail({ lines: [], done: false, error: null });
    void follow(latest.current.source, () => latest.current.running, stop.signal, setTail);
    return () => stop.abort();
  }, [key]);
  return tail;
}

async function follow(
  source: LogSource,
  isRunning: () => boolean,
  signal: AbortSignal,
  show: (tail: LogTail) => void,
): Promise<void> {
  let lines: Line[] = [];
  let rest = "";
  let offset = 0;
  while (!signal.aborted) {
    const running = isRunning();
    try {
      const piece = await getJson<LogPiece>(logPath(source, offset), signal);
      if (signal.aborted) return;
      if (piece.text !== "") {
        // Only the last, unfinished line is read again; the lines before it stay as they are.
        const text = rest + piece.text;
        const cut = text.lastIndexOf("\n") + 1;
        lines = [...lines, ...parseLog(text.slice(0, cut))];
        rest = text.slice(cut);
      }
      const more = piece.nextOffset > offset;
      offset = piece.nextOffset;
      // A store may call a log done that a running try still adds to.
      const done = piece.done && !running;
      show({ lines: rest === "" ? lines : [...lines, ...parseLog(rest)], done, error: null });
      if (done) return;
      if (!more) await pause(TAIL_MS, signal);
    } catch (error) {
      if (signal.aborted) return;
      const failure = error instanceof Error ? error : new Error(String(error));
      show({ lines, done: false, error: failure });
      if (!(failure instanceof Unreachable)) return;
      await pause(AWAY_MS, signal);
    }
    await visible(signal);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}

function visible(signal: AbortSignal): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    document.addEventListener("visibilitychange", () => resolve(), { once: true, signal });
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
