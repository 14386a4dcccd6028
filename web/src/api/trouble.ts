/**
 * Whether what is on the page can be kept fresh. Each query that fails to get through is remembered until it does; that
 * the API is away, only until anything at all is heard from it. Polls slow down meanwhile, and go on together afterwards.
 */
import type { QueryClient } from "@tanstack/react-query";
import { ApiError } from "../../../remote/index.ts";
import { isAway } from "./api.ts";

type Trouble = { readonly kind: "away" } | { readonly kind: "degraded"; readonly message: string };

function troubleOf(error: unknown): Trouble | null {
  if (isAway(error)) return { kind: "away" };
  if (error instanceof ApiError && error.status >= 500) return { kind: "degraded", message: error.message };
  return null;
}

/** While the API is away a poll rests half as long as it has been away, and never longer than this. */
const SLOWEST_MS = 10_000;
/** Everything is read again at most this often. */
const AGAIN_MS = 5000;

export interface TroubleStore {
  readonly read: () => Trouble | null;
  /** How long a poll rests that otherwise rests `ms`. */
  readonly slowed: (ms: number) => number;
  /** The API has answered, whoever asked. */
  readonly heard: () => void;
  readonly subscribe: (listener: () => void) => () => void;
}

export function watchTrouble(client: QueryClient): TroubleStore {
  const failing = new Map<string, Trouble>();
  const listeners = new Set<() => void>();
  let worst: Trouble | null = null;
  let awaySince: number | null = null;
  let readAgainAt = 0;
  const settle = (): void => {
    const all = [...failing.values()];
    const next = all.find((one) => one.kind === "away") ?? all[0] ?? null;
    if (next?.kind === worst?.kind) return;
    worst = next;
    awaySince = next?.kind === "away" ? (awaySince ?? Date.now()) : null;
    for (const listener of listeners) listener();
  };
  const heard = (): void => {
    const back = [...failing].filter(([, one]) => one.kind === "away");
    if (back.length === 0) return;
    for (const [hash] of back) failing.delete(hash);
    settle();
    // What is asked for seldom, or rests, must not keep what it failed to read. A part of the API that stays away
    // must not have everything read again and again.
    if (Date.now() - readAgainAt < AGAIN_MS) return;
    readAgainAt = Date.now();
    void client.invalidateQueries();
  };
  client.getQueryCache().subscribe((event) => {
    const { queryHash } = event.query;
    if (event.type === "updated" && event.action.type === "error") {
      const trouble = troubleOf(event.action.error);
      if (trouble !== null) failing.set(queryHash, trouble);
    } else if (event.type === "updated" && event.action.type === "success" && event.action.manual !== true) {
      const mended = failing.get(queryHash)?.kind === "degraded";
      if (mended) failing.delete(queryHash);
      heard();
      // Others may have failed of the same cause: whether it is gone for them too is asked now, not at their next poll.
      if (mended) void client.refetchQueries({ predicate: (query) => failing.has(query.queryHash) });
    } else if (event.type === "observerRemoved" && event.query.getObserversCount() === 0)
      failing.delete(queryHash);
    settle();
  });
  return {
    read: () => worst,
    slowed: (ms) =>
      awaySince === null ? ms : Math.max(ms, Math.min(SLOWEST_MS, (Date.now() - awaySince) / 2)),
    heard,
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
