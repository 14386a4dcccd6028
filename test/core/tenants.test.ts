import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { allocate, type AccountView, type Lane } from "../../core/allocate.ts";
import { chooseHolders, type Holder } from "../../core/reclaim.ts";
import type { ClassNumber, Dial } from "../../core/limits.ts";

const COHORT = "cohort:shared";
const POOL = "pool:p";
type Use = Readonly<Record<string, number>>;
const OWN: Use = { a: 20, b: 15, c: 10 };

function tenant(
  name: string,
  slots: number,
  used: number,
  more: Partial<AccountView["tenant"] & object> = {},
) {
  return {
    key: `tenant:${name}`,
    slots,
    used,
    tenant: { cohort: COHORT, most: null, exhausted: null, recent: 0, ...more },
  };
}

function accounts(used: Use, own: Use = OWN, capacity = 45): AccountView[] {
  const total = Object.values(used).reduce((sum, n) => sum + n, 0);
  return [
    { key: POOL, slots: capacity, used: total },
    { key: COHORT, slots: capacity, used: total },
    ...Object.entries(own).map(([name, slots]) => tenant(name, slots, used[name] ?? 0)),
  ];
}

let serial = 0;
const lane = (name: string, count: number, slots = 1, own: ClassNumber = 1): Lane => ({
  accounts: [POOL, COHORT, `tenant:${name}`],
  class: own,
  heads: Array.from({ length: count }, (_, i) => ({
    id: `${name}${i}`,
    slots,
    priority: 1,
    seq: serial++,
  })),
});
const of = (granted: readonly string[], name: string): number =>
  granted.filter((id) => id.startsWith(name)).length;
const holdersOf = (used: Use): Holder[] =>
  Object.entries(used).flatMap(([name, count]) =>
    Array.from({ length: count }, (_, i) => ({
      id: `${name}-run${i}`,
      pool: POOL,
      limits: [COHORT, `tenant:${name}`],
      slots: 1,
      class: 1 as const,
      priority: 1,
      grantedAt: i,
      isPreempted: false,
    })),
  );

describe("B12 B13: tenants, their own slots and what they lend", () => {
  it("B13: A 20, B 15, C 10, capacity 45; B uses 5, C wants 25: 20 (10 own + 10 lent), 5 queue", () => {
    const { granted, reasons, reclaims } = allocate(accounts({ a: 20, b: 5, c: 0 }), [lane("c", 25)]);
    expect(of(granted, "c")).toBe(20);
    expect(reasons.size).toBe(5);
    expect(new Set(reasons.values())).toEqual(new Set(['pool "p" is full: 45 of 45 in use, needs 1']));
    expect(reclaims).toEqual([]);
  });

  it("B13: then B needs 15: ten tries of C give back, the youngest first, and C falls back to 10", () => {
    const used = { a: 20, b: 5, c: 20 };
    const { granted, reasons, reclaims } = allocate(accounts(used), [lane("c", 5), lane("b", 10)]);
    expect(granted).toEqual([]);
    expect(reclaims).toMatchObject([{ owner: "tenant:b", from: COHORT, pool: POOL, slots: 10 }]);
    expect(reclaims[0]!.ids).toHaveLength(10);
    expect(reasons.get("b9")).toBe('pool "p" is full: 45 of 45 in use, needs 1');
    const chosen = chooseHolders(reclaims, accounts(used), holdersOf(used));
    expect([...chosen.asked.keys()].sort()).toEqual(
      Array.from({ length: 10 }, (_, i) => `c-run${10 + i}`).sort(),
    );
    // They have come back: B has its own, C its own, and C's five wait on.
    const after = allocate(accounts({ a: 20, b: 5, c: 10 }), [lane("c", 15), lane("b", 10)]);
    expect([of(after.granted, "b"), of(after.granted, "c")]).toEqual([10, 0]);
  });

  it("B12: what was asked for before and is still to come is not asked for twice", () => {
    const used = { a: 20, b: 5, c: 20 };
    const { reclaims } = allocate(accounts(used), [lane("b", 10)]);
    const holders = holdersOf(used).map((holder) => ({
      ...holder,
      isPreempted: holder.id >= "c-run10" && holder.id.length > 6,
    }));
    expect(holders.filter(({ isPreempted }) => isPreempted)).toHaveLength(10);
    expect(chooseHolders(reclaims, accounts(used), holders).asked.size).toBe(0);
  });

  it("B12: of what is idle the tenant that used less of its share gets more", () => {
    const views = accounts({ a: 0, b: 0, c: 0 }, { a: 10, b: 10, c: 25 });
    const { granted } = allocate(views, [lane("a", 40), lane("b", 40)]);
    expect([of(granted, "a"), of(granted, "b")]).toEqual([23, 22]);
    const late = views.map((view) => (view.key === "tenant:a" ? tenant("a", 10, 0, { recent: 10 }) : view));
    const next = allocate(late, [lane("a", 40), lane("b", 40)]);
    expect(of(next.granted, "a")).toBeGreaterThanOrEqual(10);
    expect(of(next.granted, "b")).toBeGreaterThan(of(next.granted, "a"));
  });

  it("B12: a tenant without a cohort stays within its own; one that used up its hours waits for the day's end", () => {
    const views = [
      { key: POOL, slots: 45, used: 0 },
      { key: COHORT, slots: 45, used: 0 },
      tenant("a", 3, 0, { cohort: null }),
      tenant("b", 15, 0, { exhausted: 100 }),
    ];
    const { granted, reasons } = allocate(views, [lane("a", 5), lane("b", 5)]);
    expect(granted).toEqual(["a0", "a1", "a2"]);
    expect(reasons.get("a3")).toBe('tenant "a" is full: 3 of 3 in use, needs 1');
    expect(reasons.get("b0")).toBe(
      'tenant "b" has used up its 100 core-hours of today; it goes on at 00:00 UTC',
    );
  });

  it("B12: random loads of three tenants: no ceiling is broken, nobody gives back what is his own, owners get theirs", () => {
    const use = fc.record({ a: fc.nat(15), b: fc.nat(15), c: fc.nat(15) });
    fc.assert(
      fc.property(use, use, (used, wants) => {
        const views = accounts(used);
        const total = used.a + used.b + used.c;
        const answer = allocate(
          views,
          Object.entries(wants).map(([name, count]) => lane(name, count)),
        );
        expect(total + answer.granted.length).toBeLessThanOrEqual(45);
        const chosen = chooseHolders(answer.reclaims, views, holdersOf(used));
        for (const [name, own] of Object.entries(OWN)) {
          const now = used[name as "a"];
          const given = of([...chosen.asked.keys()], `${name}-`);
          // Nobody falls below his own by giving back.
          if (given > 0) expect(now - given).toBeGreaterThanOrEqual(own);
          // Who waits within his own is told that it comes back, and so much does.
          const wanted = Math.min(wants[name as "a"], Math.max(0, own - now));
          const coming = [...chosen.asked.values()].filter((owner) => owner === `tenant:${name}`).length;
          expect(of(answer.granted, name) + coming).toBeGreaterThanOrEqual(wanted);
        }
      }),
      { seed: 13, numRuns: 2000 },
    );
  });
});

const plain = (prefix: string, count: number, own: ClassNumber, priority = 1): Lane => ({
  accounts: [POOL],
  class: own,
  heads: Array.from({ length: count }, (_, i) => ({
    id: `${prefix}${i}`,
    slots: 1,
    priority,
    seq: serial++,
  })),
});

describe("B12: priority classes", () => {
  it("B12: critical before standard before best effort, whatever their weights", () => {
    const { granted } = allocate(
      [{ key: POOL, slots: 3, used: 0 }],
      [plain("low", 2, 0, 99), plain("mid", 2, 1, 50), plain("top", 2, 2, 1)],
    );
    expect(granted).toEqual(["top0", "top1", "mid0"]);
  });

  it("B12 B10: the lowest class and the middle one get one slot in ten of those granted while they wait, in a pool of one, too", () => {
    let owed: readonly [number, number] = [0, 0];
    const got = { low: 0, mid: 0, top: 0 };
    for (let turn = 0; turn < 1000; turn++) {
      const answer = allocate(
        [{ key: POOL, slots: 1, used: 0, owed }],
        [plain("low", 3, 0), plain("mid", 3, 1), plain("top", 3, 2)],
      );
      owed = answer.owed.get(POOL)!;
      expect(answer.granted).toHaveLength(1);
      got[answer.granted[0]!.slice(0, 3) as keyof typeof got]++;
    }
    expect(got.low).toBeGreaterThanOrEqual(90);
    expect(got.mid).toBeGreaterThanOrEqual(90);
    expect(got.top).toBeGreaterThanOrEqual(780);
  });

  it("B12: nothing is saved up while nobody of that class waits", () => {
    const { owed } = allocate([{ key: POOL, slots: 50, used: 0, owed: [9, 9] }], [plain("top", 60, 2)]);
    expect(owed.get(POOL)).toEqual([0, 0]);
  });
});

describe("B16: the emergency dial", () => {
  const dial = (more: Partial<Dial>): Dial => ({
    tries: null,
    belowClass: null,
    belowPriority: null,
    who: "ada",
    reason: "warehouse down",
    ...more,
  });
  const two = [
    { key: POOL, slots: 10, used: 0 },
    { key: "pool:q", slots: 10, used: 0 },
  ];

  it("B16: so many tries at once over all pools, whatever their slots", () => {
    const big: Lane = { accounts: ["pool:q"], heads: [{ id: "big", slots: 5, priority: 9, seq: 0 }] };
    const { granted, reasons } = allocate(two, [plain("t", 5, 1), big], dial({ tries: 4 }), 1);
    expect(granted).toEqual(["big", "t0", "t1"]);
    expect(reasons.get("t2")).toBe(
      "the emergency dial (ada: warehouse down) lets 4 tries run at once, and 4 do",
    );
    expect(allocate(two, [plain("t", 2, 1)], dial({ tries: 0 }), 0).granted).toEqual([]);
  });

  it("B16: below a class or a priority nothing begins; places of runs are no concern of it", () => {
    const runs: Lane = { accounts: ["runs:d"], heads: [{ id: "run", slots: 1, priority: 1, seq: 0 }] };
    const { granted, reasons } = allocate(
      [...two, { key: "runs:d", slots: 1, used: 0 }],
      [plain("low", 1, 0), plain("mid", 1, 1, 3), plain("mild", 1, 1, 1), plain("top", 1, 2, 5), runs],
      dial({ belowClass: 1, belowPriority: 3 }),
    );
    expect([...granted].sort()).toEqual(["mid0", "run", "top0"]);
    expect(reasons.get("low0")).toBe(
      "the emergency dial (ada: warehouse down) holds back what is below class standard or below priority 3",
    );
    expect(reasons.has("mild0")).toBe(true);
  });
});

describe("B17: a floor that runs by hand cannot take", () => {
  const adhoc = (used: number): AccountView => ({ key: "adhoc:p", slots: 4, used });
  const byHand: Lane = {
    accounts: [POOL, "adhoc:p"],
    heads: Array.from({ length: 9 }, (_, i) => ({ id: `hand${i}`, slots: 1, priority: 10, seq: serial++ })),
  };

  it("B17: they take what is above it, and scheduled work all", () => {
    const { granted, reasons } = allocate(
      [{ key: POOL, slots: 10, used: 0 }, adhoc(0)],
      [byHand, plain("cron", 9, 1)],
    );
    expect([of(granted, "hand"), of(granted, "cron")]).toEqual([4, 6]);
    expect(reasons.get("hand4")).toBe('what runs by hand may take of pool "p" is in use: 4 of 4, needs 1');
  });

  it("B17: after the floor was raised, scheduled work takes it back from runs by hand, never the other way", () => {
    const views = [{ key: POOL, slots: 10, used: 10 }, adhoc(7)];
    const { reclaims } = allocate(views, [plain("cron", 9, 1), byHand]);
    expect(reclaims).toMatchObject([{ owner: POOL, from: "adhoc:p", pool: POOL, slots: 9 }]);
    const holders = Array.from({ length: 10 }, (_, i) => ({
      id: `h${i}`,
      pool: POOL,
      limits: i < 7 ? ["adhoc:p"] : [],
      slots: 1,
      class: 1 as const,
      priority: 1,
      grantedAt: i,
      isPreempted: false,
    }));
    expect([...chooseHolders(reclaims, views, holders).asked.keys()].sort()).toEqual(["h4", "h5", "h6"]);
    expect(allocate(views, [byHand]).reclaims).toEqual([]);
  });
});
