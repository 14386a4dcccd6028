/** Whether what is on the page can be kept fresh: each query that fails to get through is remembered until it does. */
import type { QueryClient } from "@tanstack/react-query";
import { ApiError } from "../../../remote/index.ts";
import { isAway } from "./api.ts";

type Trouble = { readonly kind: "away" } | { readonly kind: "degraded"; readonly message: string };

function troubleOf(error: unknown): Trouble | null {
  if (isAway(error)) return { kind: "away" };
  if (error instanceof ApiError && error.status >= 500) return { kind: "degraded", message: error.message };
  return null;
}

export interface TroubleStore {
  readonly read: () => Trouble | null;
  readonly subscribe: (listener: () => void) => () => void;
}

export function watchTrouble(client: QueryClient): TroubleStore {
  const failing = new Map<string, Trouble>();
  const listeners = new Set<() => void>();
  let worst: Trouble | null = null;
  const settle = (): void => {
    const all = [...failing.values()];
    const next = all.find((one) => one.kind === "away") ?? all[0] ?? null;
    if (next?.kind === worst?.kind) return;
    worst = next;
    for (const listener of listeners) listener();
  };
  client.getQueryCache().subscribe((event) => {
    const { queryHash } = event.query;
    if (event.type === "updated" && event.action.type === "error") {
      const trouble = troubleOf(event.action.error);
      if (trouble !== null) failing.set(queryHash, trouble);
    } else if (event.type === "updated" && event.action.type === "success") failing.delete(queryHash);
    else if (event.type === "observerRemoved" && event.query.getObserversCount() === 0)
      failing.delete(queryHash);
    settle();
  });
  return {
    read: () => worst,
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
