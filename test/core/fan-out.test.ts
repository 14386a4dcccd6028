import { describe, expect, it } from "vitest";
import { allocate, type Lane } from "../../core/allocate.ts";

const MINUTE = 60_000;

interface Job {
  readonly id: string;
  readonly pool: string;
  readonly slots: number;
  readonly takesMs: number;
}

/** Each job's grant, ms since all were asked for: nothing but the allocator and the ends of what it granted. */
function simulate(pools: Readonly<Record<string, number>>, jobs: readonly Job[]): Map<string, number> {
  const grantedAt = new Map<string, number>();
  const ends = new Map<string, number>();
  for (let now = 0; ;) {
    const running = jobs.filter((job) => ends.has(job.id));
    const accounts = Object.entries(pools).map(([key, slots]) => ({
      key,
      slots,
      used: running.filter((job) => job.pool === key).reduce((sum, job) => sum + job.slots, 0),
    }));
    const lanes = Object.keys(pools).map((pool): Lane => {
      const waiting = jobs.filter((job) => job.pool === pool && !grantedAt.has(job.id));
      const heads = waiting.map(({ id, slots }) => ({ id, slots, priority: 1, seq: Number(id.slice(1)) }));
      return { accounts: [pool], heads };
    });
    for (const id of allocate(accounts, lanes).granted) {
      grantedAt.set(id, now);
      ends.set(id, now + jobs.find((job) => job.id === id)!.takesMs);
    }
    for (const { key, slots } of accounts) {
      const used = jobs.filter((job) => job.pool === key && ends.has(job.id));
      expect(used.reduce((sum, job) => sum + job.slots, 0)).toBeLessThanOrEqual(slots);
    }
    if (ends.size === 0) return grantedAt;
    now = Math.min(...ends.values());
    for (const [id, at] of ends) if (at === now) ends.delete(id);
  }
}

const fanOut = (letter: string, pool: string, count: number, takesMs: number): Job[] =>
  Array.from({ length: count }, (_, i) => ({ id: `${letter}${i}`, pool, slots: 1, takesMs }));

describe("B14: a fan-out in a pool of its own, in simulated time", () => {
  it("B14: 500 tasks of 4 min in a pool of 32 take 16 rounds and 64 min; the default pool is untouched", () => {
    const wide = fanOut("w", "pool:fan", 500, 4 * MINUTE);
    const others = fanOut("d", "pool:default", 40, MINUTE);
    const grants = simulate({ "pool:fan": 32, "pool:default": 20 }, [...wide, ...others]);
    const rounds = [...new Set(wide.map(({ id }) => grants.get(id)!))].sort((a, b) => a - b);
    expect(rounds).toEqual(Array.from({ length: 16 }, (_, round) => round * 4 * MINUTE));
    const last = Math.max(...wide.map(({ id }) => grants.get(id)!)) + 4 * MINUTE;
    expect(last).toBe(64 * MINUTE);
    const alone = simulate({ "pool:default": 20 }, others);
    expect(others.map(({ id }) => grants.get(id))).toEqual(others.map(({ id }) => alone.get(id)));
  });

  it("B14: with a pool of 16 it takes 32 rounds and 128 min", () => {
    const wide = fanOut("w", "pool:fan", 500, 4 * MINUTE);
    const grants = simulate({ "pool:fan": 16 }, wide);
    expect(new Set(grants.values()).size).toBe(32);
    expect(Math.max(...grants.values()) + 4 * MINUTE).toBe(128 * MINUTE);
  });
});
