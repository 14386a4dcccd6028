/** Who lends to whom within a cohort, for people: the account book itself only knows sums. Pure. */
export interface Member {
  readonly tenant: string;
  /** Its own. */
  readonly slots: number;
  readonly used: number;
}

export interface Loan {
  /** null: slots of the cohort that are nobody's own. */
  readonly from: string | null;
  readonly to: string;
  readonly slots: number;
}

/**
 * What members hold beyond their own is lent by the cohort's spare slots first, then by who has most idle of its own; the
 * largest borrower is served first. Ties go by name. After a shrink nobody may be left to lend: that part has no loan.
 */
export function loansIn(members: readonly Member[], cohortSlots: number): readonly Loan[] {
  const own = members.reduce((sum, { slots }) => sum + slots, 0);
  const lenders: { readonly from: string | null; idle: number }[] = [
    { from: null, idle: Math.max(0, cohortSlots - own) },
    ...most(
      members.map((member) => ({ from: member.tenant, idle: member.slots - member.used })),
      "from",
      "idle",
    ),
  ];
  const borrowers = most(
    members.map((member) => ({ to: member.tenant, over: member.used - member.slots })),
    "to",
    "over",
  );
  return borrowers.flatMap(({ to, over }) => {
    let left = over;
    return lenders.flatMap((lender): Loan[] => {
      const slots = Math.min(left, lender.idle);
      if (slots <= 0) return [];
      left -= slots;
      lender.idle -= slots;
      return [{ from: lender.from, to, slots }];
    });
  });
}

/** Those with any, the most first. */
function most<N extends string, A extends string, T extends Record<N, string> & Record<A, number>>(
  rows: readonly T[],
  name: N,
  amount: A,
): T[] {
  return rows
    .filter((row) => row[amount] > 0)
    .sort((a, b) => b[amount] - a[amount] || (a[name] < b[name] ? -1 : 1));
}
