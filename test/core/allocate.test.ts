import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { allocate, type AccountView, type Lane } from "../../core/allocate.ts";

interface Asked {
  readonly id: string;
  readonly slots: number;
  readonly priority: number;
  readonly accounts: readonly string[];
}

/** Requests in the order in which they were asked, as lanes. */
function lanesOf(asked: readonly Asked[]): Lane[] {
  const lanes = new Map<string, { accounts: readonly string[]; heads: (Asked & { seq: number })[] }>();
  for (const [seq, one] of asked.entries()) {
    const lane = lanes.get(one.accounts.join()) ?? { accounts: one.accounts, heads: [] };
    lane.heads.push({ ...one, seq });
    lanes.set(one.accounts.join(), lane);
  }
  for (const { heads } of lanes.values()) heads.sort((a, b) => b.priority - a.priority || a.seq - b.seq);
  return [...lanes.values()];
}

const one = (account: AccountView, ...slots: number[]) =>
  allocate([account], lanesOf(slots.map((n, i) => ask(`r${i}`, n, [account.key]))));
const ask = (id: string, slots: number, accounts: string[], priority = 1): Asked => ({
  id,
  slots,
  priority,
  accounts,
});
const account = (key: string, slots: number | null, used = 0): AccountView => ({ key, slots, used });

describe("B11: the allocator", () => {
  it("K44: pool of 24; 12, 12 and 16 slots: 12 + 12 first, 16 later", () => {
    const first = one(account("pool:p", 24), 12, 12, 16);
    expect(first.granted).toEqual(["r0", "r1"]);
    expect(first.reasons.get("r2")).toBe('pool "p" is full: 24 of 24 in use, needs 16');
    expect(one(account("pool:p", 24), 16).granted).toEqual(["r0"]);
  });

  it("K44: what would fit waits behind what needs more, and says so", () => {
    const { granted, reasons } = one(account("pool:p", 24, 12), 16, 2);
    expect(granted).toEqual([]);
    expect(reasons.get("r1")).toBe('waits behind one that needs 16: pool "p" has 12 of 24 free');
  });

  it("K45: a request bigger than its pool says so and holds up nobody", () => {
    const answer = one(account("pool:p", 2), 4, 1);
    expect(answer.granted).toEqual(["r1"]);
    expect(answer.reasons.get("r0")).toBe('can never run: needs 4, pool "p" has 2');
  });

  it("K48: a pool that does not exist is the reason shown", () => {
    expect(one(account("pool:nope", null), 1).reasons.get("r0")).toBe(
      'can never run: pool "nope" does not exist',
    );
  });

  it("after a shrink nothing is granted until use is below the limit", () => {
    expect(one(account("pool:p", 4, 7), 1).granted).toEqual([]);
    expect(one(account("pool:p", 4, 3), 1, 1).granted).toEqual(["r0"]);
  });
});

describe("A7 B11: limits beside a pool", () => {
  it("A7: a task's own limit over all runs holds up its tries alone, in words", () => {
    const limit = "task:d:load";
    const { granted, reasons } = allocate(
      [account("pool:p", 10, 2), account(limit, 2, 1)],
      lanesOf([
        ask("load0", 1, ["pool:p", limit], 9),
        ask("load1", 1, ["pool:p", limit], 9),
        ask("other", 1, ["pool:p"]),
      ]),
    );
    expect(granted).toEqual(["load0", "other"]);
    expect(reasons.get("load1")).toBe('the active tries of task "d.load" are at their limit: 2 of 2');
  });

  it("K46: a dag at its limit does not hold up its pool, nor a full pool the dag's other pools", () => {
    const { granted, reasons } = allocate(
      [account("pool:full", 1, 1), account("pool:p", 3), account("tasks:d", 2), account("tasks:busy", 1, 1)],
      lanesOf([
        ask("d-full", 1, ["pool:full", "tasks:d"], 9),
        ask("d-p", 1, ["pool:p", "tasks:d"]),
        ask("busy", 5, ["pool:p", "tasks:busy"], 9),
        ask("busy2", 1, ["pool:p", "tasks:busy"], 9),
        ask("free", 1, ["pool:p"]),
      ]),
    );
    expect(granted).toEqual(["d-p", "free"]);
    expect(reasons.get("d-full")).toBe('pool "full" is full: 1 of 1 in use, needs 1');
    expect(reasons.get("busy")).toBe('can never run: needs 5, pool "p" has 3');
    expect(reasons.get("busy2")).toBe('the active tasks of dag "busy" are at their limit: 1 of 1');
  });

  it("a limit that its pool's next one draws on keeps a place for it, so that it is not overtaken for ever", () => {
    const first = allocate(
      [account("pool:p", 1, 1), account("pool:q", 9), account("tasks:d", 1)],
      lanesOf([ask("next", 1, ["pool:p", "tasks:d"]), ask("later", 1, ["pool:q", "tasks:d"])]),
    );
    expect(first.granted).toEqual([]);
    expect(first.reasons.get("later")).toBe(
      'waits behind one that waits for pool "p": it keeps a place among the active tasks of dag "d"',
    );
  });
});

const POOLS = ["pool:a", "pool:b", "pool:c"];
const LIMITS = ["tasks:x", "tasks:y", "task:x:t"];
const load = fc.record({
  sizes: fc.tuple(...[...POOLS, ...LIMITS].map(() => fc.integer({ min: 0, max: 8 }))),
  used: fc.tuple(...[...POOLS, ...LIMITS].map(() => fc.integer({ min: 0, max: 10 }))),
  asked: fc.array(
    fc.record({
      slots: fc.integer({ min: 1, max: 6 }),
      priority: fc.integer({ min: 0, max: 2 }),
      pool: fc.constantFrom(...POOLS),
      limits: fc.subarray(LIMITS),
    }),
    { maxLength: 40 },
  ),
});

describe("B11: the allocator over random loads", () => {
  const keys = [...POOLS, ...LIMITS];
  const takes = (request: Asked, key: string): number =>
    key === request.accounts[0] ? request.slots : request.accounts.includes(key) ? 1 : 0;

  it("B11: no account above its ceiling; everything is granted or told why, and the reason is true", () => {
    fc.assert(
      fc.property(load, ({ sizes, used, asked }) => {
        const accounts = keys.map((key, i) => account(key, sizes[i]!, used[i]));
        const requests = asked.map(({ slots, priority, pool, limits }, i) =>
          ask(`r${i}`, slots, [pool, ...limits], priority),
        );
        const { granted, reasons } = allocate(accounts, lanesOf(requests));
        expect([...granted, ...reasons.keys()].sort()).toEqual(requests.map(({ id }) => id).sort());
        const after = new Map(accounts.map((view) => [view.key, view.used]));
        for (const request of requests.filter(({ id }) => granted.includes(id)))
          for (const key of request.accounts) after.set(key, after.get(key)! + takes(request, key));
        for (const { key, slots, used: before } of accounts)
          expect(after.get(key)).toBeLessThanOrEqual(Math.max(slots!, before));
        for (const request of requests.filter(({ id }) => !granted.includes(id))) {
          const reason = reasons.get(request.id)!;
          const tooBig = request.accounts.some(
            (key) => takes(request, key) > accounts.find((view) => view.key === key)!.slots!,
          );
          expect(reason.startsWith("can never run"), reason).toBe(tooBig);
          // Nobody waits for whom nothing is short: somebody of one of its accounts is ahead, or one is full.
          const isShort = request.accounts.some(
            (key) =>
              after.get(key)! + takes(request, key) > accounts.find((view) => view.key === key)!.slots!,
          );
          const isBehind = requests.some(
            (other) =>
              other.id !== request.id &&
              !granted.includes(other.id) &&
              other.accounts.some((key) => request.accounts.includes(key)) &&
              (other.priority > request.priority ||
                (other.priority === request.priority && requests.indexOf(other) < requests.indexOf(request))),
          );
          expect(tooBig || isShort || isBehind, reason).toBe(true);
        }
      }),
      { seed: 11, numRuns: 3000 },
    );
  });

  it("B11: whatever ends in whatever order, every request that can run does, and none waits behind later ones for ever", () => {
    fc.assert(
      fc.property(load, fc.infiniteStream(fc.nat(1000)), ({ sizes, asked }, picks) => {
        const requests = asked.map(({ slots, priority, pool, limits }, i) =>
          ask(`r${i}`, slots, [pool, ...limits], priority),
        );
        const fits = (request: Asked): boolean =>
          request.accounts.every((key) => takes(request, key) <= sizes[keys.indexOf(key)]!);
        let waiting = requests.map((request) => request);
        const running: Asked[] = [];
        for (let round = 0; round < 500 && (running.length > 0 || waiting.some(fits)); round++) {
          const views = keys.map((key, i) =>
            account(
              key,
              sizes[i]!,
              running.reduce((sum, request) => sum + takes(request, key), 0),
            ),
          );
          const { granted } = allocate(views, lanesOf(waiting));
          running.push(...waiting.filter(({ id }) => granted.includes(id)));
          waiting = waiting.filter(({ id }) => !granted.includes(id));
          if (running.length > 0) running.splice(picks.next().value! % running.length, 1);
        }
        expect(waiting.filter(fits)).toEqual([]);
      }),
      { seed: 12, numRuns: 1000 },
    );
  });

  it("regression: what comes behind one that can never run goes in its turn", () => {
    const { granted } = allocate(
      [account("pool:p", 1), account("tasks:d", 9)],
      lanesOf([
        ask("huge", 2, ["pool:p"]),
        ask("next", 1, ["pool:p", "tasks:d"]),
        ask("later", 1, ["pool:p"]),
      ]),
    );
    expect(granted).toEqual(["next"]);
  });

  it("a stream of later small ones does not overtake the first for ever, whatever they share with it", () => {
    fc.assert(
      fc.property(fc.infiniteStream(fc.nat(1000)), (picks) => {
        // One of several slots that also needs a dag's place, against small ones of its pool and of its dag.
        const views = (running: readonly Asked[]) =>
          [account("pool:a", 4), account("pool:b", 4), account("tasks:x", 2)].map((view) => ({
            ...view,
            used: running.reduce((sum, request) => sum + takes(request, view.key), 0),
          }));
        let serial = 0;
        const small = (): Asked[] => [
          ask(`a${serial++}`, 1, ["pool:a"]),
          ask(`b${serial++}`, 1, ["pool:b", "tasks:x"]),
        ];
        const running: Asked[] = [ask("s", 1, ["pool:a"]), ask("t", 1, ["pool:b", "tasks:x"])];
        let waiting: Asked[] = [ask("first", 4, ["pool:a", "tasks:x"]), ...small(), ...small()];
        for (let round = 0; round < 60; round++) {
          const { granted } = allocate(views(running), lanesOf(waiting));
          if (granted.includes("first")) return;
          running.push(...waiting.filter(({ id }) => granted.includes(id)));
          waiting = [...waiting.filter(({ id }) => !granted.includes(id)), ...small()];
          if (running.length > 0) running.splice(picks.next().value! % running.length, 1);
        }
        throw new Error("the first was overtaken for 60 rounds");
      }),
      { seed: 13, numRuns: 500 },
    );
  });
});
