import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | null = null;

function tick(): void {
  now = Date.now();
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(tick, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  };
}

function read(): number {
  // A first reader after a pause must not see a stale second; between ticks the value has to stay the same.
  if (timer === null && Date.now() - now > 1000) now = Date.now();
  return now;
}

/** The time to the second, one clock for the whole page. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, read);
}
