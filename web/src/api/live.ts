/**
 * What changes, as it changes: one stream of the API's events, and polling behind it. While the stream is there, what
 * it tells is put into what was read, and polls only check; without it they carry everything.
 */
import type { QueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { api } from "./api.ts";
import { applyChanges } from "./apply-changes.ts";
import { client, trouble } from "./client.ts";

/** The stream is tried again this long after the API refused it; a lost connection is taken up by the client itself. */
const AGAIN_MS = 5000;

let live = false;

/** Whether changes come by themselves, so that polling may be slow. */
export function isLive(): boolean {
  return live;
}

/** How long until what moves is asked for again: `calmMs` while its changes come by the stream, longer while nobody answers. */
export function pollMs(ms: number, calmMs: number = ms): number {
  return live ? calmMs : trouble.slowed(ms);
}

/**
 * Subscribes to a DAG's changes, or to those of all DAGs' runs. A hidden tab lets go of its connection: browsers allow
 * six to one host, and tabs in the background must not use them up.
 */
export function useLive(dagId: string | null): void {
  useEffect(() => {
    const stop = subscribe(client, dagId);
    return stop;
  }, [dagId]);
}

function subscribe(queries: QueryClient, dagId: string | null): () => void {
  let open: AbortController | null = null;

  const catchUp = (): void =>
    void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== "health" });
  const close = (): void => {
    open?.abort();
    open = null;
    live = false;
  };
  const follow = async ({ signal }: AbortController): Promise<void> => {
    // From the first event on nothing is missed; what happened before it, nobody told.
    let isFirst = true;
    const onBreak = (): void => {
      if (signal.aborted) return;
      isFirst = true;
      // Polling takes over at once, and notices when the API itself is away.
      if (live) catchUp();
      live = false;
    };
    for await (const { changes } of api.events({ dagId: dagId ?? undefined, signal, onBreak })) {
      live = true;
      trouble.heard();
      if (isFirst || changes === null) catchUp();
      isFirst = false;
      if (changes !== null) applyChanges(queries, changes);
    }
  };
  const start = (): void => {
    close();
    const mine = new AbortController();
    open = mine;
    follow(mine).catch(() => {
      if (mine.signal.aborted) return;
      close();
      timer = setTimeout(start, AGAIN_MS);
    });
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const onVisible = (): void => {
    clearTimeout(timer);
    if (document.hidden) close();
    else if (open === null) start();
  };
  document.addEventListener("visibilitychange", onVisible);
  if (!document.hidden) start();
  return () => {
    document.removeEventListener("visibilitychange", onVisible);
    clearTimeout(timer);
    close();
  };
}
