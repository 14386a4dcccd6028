import { isBelow, type AccountView, type Reclaim } from "./allocate.ts";
import type { ClassNumber, Dial } from "./limits.ts";

/** A try under way that may be asked to give its slots back. */
export interface Holder {
  readonly id: string;
  readonly pool: string;
  readonly limits: readonly string[];
  readonly slots: number;
  readonly class: ClassNumber;
  readonly priority: number;
  /** When it got its slots, ms since the epoch. */
  readonly grantedAt: number;
  /** It was asked already. */
  readonly isPreempted: boolean;
}

/** Whom to ask first: the lowest class, the lowest priority, who has lost least. */
const byLeastLoss = (a: Holder, b: Holder): number =>
  a.class - b.class || a.priority - b.priority || b.grantedAt - a.grantedAt;

export interface Chosen {
  /** Ids of holders to ask, with the owner each is asked for. */
  readonly asked: ReadonlyMap<string, string>;
  /** Those for whom something comes back: what is asked for now, or was before. */
  readonly helped: ReadonlySet<Reclaim>;
}

/**
 * Whose tries give back, so that each owner gets what it waits for: of a cohort only what its tenants hold beyond their
 * own slots, the one furthest over its share first; of runs by hand only what they hold beyond their part of the pool.
 * What was asked before and is still to come counts, once.
 */
export function chooseHolders(
  reclaims: readonly Reclaim[],
  accounts: readonly AccountView[],
  holders: readonly Holder[],
): Chosen {
  const views = new Map(accounts.map((view) => [view.key, view]));
  /** What each account holds beyond its own, when all that was asked for has come back. */
  const over = new Map(accounts.map(({ key, slots, used }): [string, number] => [key, used - (slots ?? 0)]));
  const goes = (holder: Holder): void => {
    for (const key of holder.limits) over.set(key, (over.get(key) ?? 0) - holder.slots);
  };
  for (const holder of holders) if (holder.isPreempted) goes(holder);
  /** The account whose slots it would give back; null: of it nothing helps. */
  const giverOf = (holder: Holder, { owner, from, pool }: Reclaim): string | null => {
    if (pool !== null && holder.pool !== pool) return null;
    const giver = holder.limits.find((key) =>
      from.startsWith("adhoc:") ? key === from : views.get(key)?.tenant?.cohort === from,
    );
    return giver === undefined || giver === owner ? null : giver;
  };

  const asked = new Map<string, string>();
  const helped = new Set<Reclaim>();
  const coming = new Set(holders.filter(({ isPreempted }) => isPreempted));
  const spare = new Set(holders.filter(({ isPreempted }) => !isPreempted).sort(byLeastLoss));
  for (const reclaim of reclaims) {
    let wanted = reclaim.slots;
    for (const holder of coming) {
      if (wanted <= 0) break;
      if (giverOf(holder, reclaim) === null) continue;
      coming.delete(holder);
      helped.add(reclaim);
      wanted -= holder.slots;
    }
    while (wanted > 0) {
      const share = (key: string): number => over.get(key)! / Math.max(views.get(key)!.slots ?? 1, 1);
      let next: { readonly holder: Holder; readonly giver: string } | null = null;
      for (const holder of spare) {
        const giver = giverOf(holder, reclaim);
        if (giver === null || over.get(giver)! < holder.slots) continue;
        if (next === null || share(giver) > share(next.giver)) next = { holder, giver };
      }
      if (next === null) break;
      spare.delete(next.holder);
      asked.set(next.holder.id, reclaim.owner);
      helped.add(reclaim);
      goes(next.holder);
      wanted -= next.holder.slots;
    }
  }
  return { asked, helped };
}

/** Whose tries are to give back under a dial: what is below it, and of the rest what is more than it lets run at once. */
export function chooseBelow(dial: Dial, holders: readonly Holder[]): readonly string[] {
  const below = new Set(holders.filter((holder) => isBelow(dial, holder.class, holder)));
  const rest = holders.filter((holder) => !below.has(holder)).sort(byLeastLoss);
  const over = dial.tries === null ? [] : rest.slice(0, Math.max(0, rest.length - dial.tries));
  return [...below, ...over].filter(({ isPreempted }) => !isPreempted).map(({ id }) => id);
}
