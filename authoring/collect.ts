import { registry } from "./registry.ts";
import type { Dag } from "./registry.ts";

export type { Dag } from "./registry.ts";

/** A file whose loading never ends keeps the others waiting no longer than this. */
const LONGEST_TURN_MS = 60_000;

/**
 * Every DAG defined while `load` runs, in order of definition. Collections in one thread take turns, so that two
 * files loading at once do not mix. A module that was imported before defines nothing again: keep what you collected.
 *
 * @example
 * const dags = await collect(() => import("/bundles/3f2a.mjs"));
 */
export async function collect(load: () => Promise<unknown>): Promise<readonly Dag[]> {
  const shared = registry();
  let passOn = (): void => {};
  const turn = shared.turn;
  shared.turn = new Promise((resolve) => (passOn = resolve));
  await turn;
  const timer = setTimeout(passOn, LONGEST_TURN_MS);
  const collected = new Map<string, Dag>();
  shared.collected = collected;
  try {
    await load();
    return [...collected.values()];
  } finally {
    clearTimeout(timer);
    if (shared.collected === collected) shared.collected = undefined;
    passOn();
  }
}
