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

/**
 * Whose tries give back, so that each owner gets what it waits for: of a cohort only what its tenants hold beyond their
 * own slots, the one furthest over its share first; of runs by hand only what they hold beyond their part of the pool.
 * What was asked before and is still to come counts. Answers ids of holders, with the owner each is asked for.
 */
export function chooseHolders(
  reclaims: readonly Reclaim[],
  accounts: readonly AccountView[],
  holders: readonly Holder[],
): ReadonlyMap<string, string> {
  const views = new Map(accounts.map((view) => [view.key, view]));
  /** What each account holds beyond its own, when all that was asked for has come back. */
  const over = new Map(
    accounts.map(({ key, slots, used }) => [key, used - (slots ?? 0)] as [string, number]),
  );
  const borrowerOf = (holder: Holder, from: string): string | undefined =>
    from.startsWith("adhoc:")
      ? holder.limits.find((key) => key === from)
      : holder.limits.find((key) => views.get(key)?.tenant?.cohort === from);
  for (const holder of holders)
    if (holder.isPreempted)
      for (const key of holder.limits) over.set(key, (over.get(key) ?? 0) - holder.slots);

  const chosen = new Map<string, string>();
  const spare = holders.filter(({ isPreempted }) => !isPreempted).sort(byLeastLoss);
  for (const { owner, from, pool, slots } of reclaims) {
    let wanted = slots - comingBack(holders, chosen, owner, (holder) => borrowerOf(holder, from), pool);
    while (wanted > 0) {
      const candidates = spare.flatMap((holder) => {
        const borrower = borrowerOf(holder, from);
        if (borrower === undefined || borrower === owner || chosen.has(holder.id)) return [];
        if (pool !== null && holder.pool !== pool) return [];
        return over.get(borrower)! >= holder.slots ? [{ holder, borrower }] : [];
      });
      if (candidates.length === 0) break;
      const share = (key: string): number => over.get(key)! / Math.max(views.get(key)!.slots ?? 1, 1);
      const next = candidates.reduce((best, one) =>
        share(one.borrower) > share(best.borrower) ? one : best,
      );
      chosen.set(next.holder.id, owner);
      for (const key of next.holder.limits) over.set(key, (over.get(key) ?? 0) - next.holder.slots);
      wanted -= next.holder.slots;
    }
  }
  return chosen;
}

/** Slots that others were asked for before and that will help the owner, too. */
function comingBack(
  holders: readonly Holder[],
  chosen: ReadonlyMap<string, string>,
  owner: string,
  borrowerOf: (holder: Holder) => string | undefined,
  pool: string | null,
): number {
  return holders
    .filter((holder) => holder.isPreempted && !chosen.has(holder.id))
    .filter((holder) => {
      const borrower = borrowerOf(holder);
      return borrower !== undefined && borrower !== owner && (pool === null || holder.pool === pool);
    })
    .reduce((sum, { slots }) => sum + slots, 0);
}

/** Whose tries are to give back under a dial: what is below it, and of the rest what is more than it lets run at once. */
export function chooseBelow(dial: Dial, holders: readonly Holder[]): readonly string[] {
  const below = new Set(holders.filter((holder) => isBelow(dial, holder.class, holder)));
  const rest = holders.filter((holder) => !below.has(holder)).sort(byLeastLoss);
  const over = dial.tries === null ? [] : rest.slice(0, Math.max(0, rest.length - dial.tries));
  return [...below, ...over].filter(({ isPreempted }) => !isPreempted).map(({ id }) => id);
}
