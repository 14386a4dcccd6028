import { registry } from "./registry.ts";
import type { Dag } from "./registry.ts";

export type { Dag } from "./registry.ts";

/**
 * Every DAG defined while `load` runs, in order of definition. Collections in one thread take turns, so that two
 * files loading at once do not mix. A module that was imported before defines nothing again: keep what you collected.
 *
 * @example
 * const dags = await collect(() => import("/bundles/3f2a.mjs"));
 */
export async function collect(load: () => Promise<unknown>): Promise<readonly Dag[]> {
  const shared = registry();
  const result = shared.turn.then(async () => {
    const collected = new Map<string, Dag>();
    shared.collected = collected;
    try {
      await load();
      return [...collected.values()];
    } finally {
      shared.collected = undefined;
    }
  });
  shared.turn = result.catch(() => undefined);
  return result;
}
