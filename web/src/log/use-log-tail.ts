import { useEffect, useRef, useState } from "react";
import { api, isAway } from "../api/api.ts";
import { trouble } from "../api/client.ts";
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
  /** The whole text as it was written, as far as it has been read. */
  readonly text: () => string;
}

/** How soon to ask for more when nothing streams: live enough to feel live. */
const TAIL_MS = 800;
const AWAY_MS = 2000;

const tryOf = ({ dagId, runId, taskId, mapIndex, tryNumber }: LogSource) => ({
  dagId,
  runId,
  taskId,
  mapIndex: mapIndex < 0 ? undefined : mapIndex,
  try: tryNumber,
});

const NOTHING: LogTail = { lines: [], done: false, error: null, text: () => "" };

/** Reads a log from its start, then follows it until it is done and its try has ended. Rests while the tab is hidden. */
export function useLogTail(source: LogSource, running: boolean): LogTail {
  const [tail, setTail] = useState<LogTail>(NOTHING);
  const key = JSON.stringify(tryOf(source));
  const latest = useRef({ source, running });
  latest.current = { source, running };
  useEffect(() => {
    const stop = new AbortController();
    setTail(NOTHING);
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
  const pieces: string[] = [];
  let lines: Line[] = [];
  let rest = "";
  let offset = 0;
  const add = (text: string, nextOffset: number): void => {
    offset = nextOffset;
    if (text === "") return;
    pieces.push(text);
    // Only the last, unfinished line is read again; the lines before it stay as they are.
    const joined = rest + text;
    const cut = joined.lastIndexOf("\n") + 1;
    lines = [...lines, ...parseLog(joined.slice(0, cut))];
    rest = joined.slice(cut);
  };
  const tell = (done: boolean, error: Error | null = null): void => {
    if (signal.aborted) return;
    const all = rest === "" ? lines : [...lines, ...parseLog(rest)];
    show({ lines: all, done, error, text: () => pieces.join("") });
  };
  while (!signal.aborted) {
    const running = isRunning();
    try {
      const from = offset;
      const piece = await api.tasks.log(tryOf(source), offset, { signal });
      if (signal.aborted) return;
      add(piece.text, piece.nextOffset);
      // A store may call a log done that a running try still adds to.
      const done = piece.done && !running;
      tell(done);
      if (done) return;
      if (offset === from && running) {
        const put = (text: string, at: number): void => (add(text, at), tell(false));
        await stream(source, offset, put, signal);
      }
      if (offset === from) await pause(TAIL_MS, signal);
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(String(error));
      tell(false, failure);
      if (!isAway(failure)) return;
      await untilBack(signal);
    }
    await visible(signal);
  }
}

/** Lines as they are written, until the try has ended, the stream is lost, or the tab is hidden. */
async function stream(
  source: LogSource,
  offset: number,
  put: (text: string, nextOffset: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const ending = new AbortController();
  const end = (): void => ending.abort();
  const onHidden = (): void => {
    if (document.hidden) end();
  };
  document.addEventListener("visibilitychange", onHidden);
  try {
    const call = { signal: AbortSignal.any([signal, ending.signal]), onBreak: end };
    for await (const { text, nextOffset } of api.tasks.followLog(tryOf(source), offset, call))
      put(text, nextOffset);
  } catch {
    // Whatever it was, the next look at the log meets it too.
  } finally {
    document.removeEventListener("visibilitychange", onHidden);
  }
}

/** Longer from time to time while nobody answers, no longer than until somebody does. */
async function untilBack(signal: AbortSignal): Promise<void> {
  const back = new AbortController();
  const leave = trouble.subscribe(() => trouble.read() === null && back.abort());
  await pause(trouble.slowed(AWAY_MS), AbortSignal.any([signal, back.signal]));
  leave();
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
