/**
 * What changes, as it changes: one stream of the API's events, and polling behind it. While the stream is there, what
 * it tells is put into what was read, and polls only check; without it they carry everything.
 */
import type { QueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { Changes } from "../../../api/contracts.ts";
import { applyChanges } from "./apply-changes.ts";
import { client } from "./client.ts";
import { queryOf } from "./fetch.ts";

/** The stream is tried again this long after the API refused it; a lost connection is taken up by the browser itself. */
const AGAIN_MS = 5000;

let live = false;

/** Whether changes come by themselves, so that polling may be slow. */
export function isLive(): boolean {
  return live;
}

/** How long until what moves is asked for again: `calmMs` while its changes come by the stream. */
export function pollMs(ms: number, calmMs: number): number {
  return live ? calmMs : ms;
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
  let source: EventSource | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isFirst = true;

  const catchUp = (): void =>
    void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== "health" });
  const close = (): void => {
    clearTimeout(timer);
    source?.close();
    source = null;
    live = false;
  };
  const setLost = (): void => {
    live = false;
    catchUp();
  };
  const open = (): void => {
    close();
    source = new EventSource(`/api/v1/events${queryOf({ dag: dagId })}`);
    source.addEventListener("open", () => {
      isFirst = true;
    });
    source.addEventListener("changes", (event: MessageEvent<string>) => {
      live = true;
      // From the first event on nothing is missed; what happened before it, nobody told.
      if (isFirst) catchUp();
      isFirst = false;
      applyChanges(queries, JSON.parse(event.data) as Changes);
    });
    source.addEventListener("reload", catchUp);
    source.addEventListener("error", () => {
      // Polling takes over at once, and notices when the API itself is away.
      if (live) setLost();
      if (source?.readyState === EventSource.CLOSED) timer = setTimeout(open, AGAIN_MS);
    });
  };
  const onVisible = (): void => {
    if (document.hidden) close();
    else if (source === null) open();
  };
  document.addEventListener("visibilitychange", onVisible);
  if (!document.hidden) open();
  return () => {
    document.removeEventListener("visibilitychange", onVisible);
    close();
  };
}
