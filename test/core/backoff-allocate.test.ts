import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { allocate } from "../../core/allocate.ts";
import { retryDelayMs } from "../../core/backoff.ts";
import { afterFailure, fraction } from "../../core/retry.ts";
import { parseRunId, runIdOf, isId } from "../../core/ids.ts";

describe("K34 A5: long back-off", () => {
  const policy = { retryDelayMs: 300_000, retryFactor: 2, retryMaxDelayMs: 3_600_000 };
  it("K34: 300 600 1200 2400 3600 3600 … 3600 seconds", () => {
    const waits = [1, 2, 3, 4, 5, 6, 1100].map((retry) => retryDelayMs(policy, retry) / 1000);
    expect(waits).toEqual([300, 600, 1200, 2400, 3600, 3600, 3600]);
  });
  it("K34: a delay of 0 stays 0, and no cap is still finite", () => {
    expect(retryDelayMs({ ...policy, retryDelayMs: 0 }, 1100)).toBe(0);
    expect(Number.isFinite(retryDelayMs({ ...policy, retryMaxDelayMs: null }, 1100))).toBe(true);
  });
  it("K34: the 1,100th retry, with and without jitter, is at or below the cap", () => {
    const error = { code: "Error", message: "", retryable: true };
    const wait = (retryJitter: number, random: number) =>
      afterFailure({ ...policy, retries: 2000, retryJitter }, 1099, error, random);
    expect(wait(0, 0.9)).toEqual({ kind: "again", delayMs: 3_600_000, retries: 1100 });
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), fc.string(), (jitter, text) => {
        const next = wait(jitter, fraction(text)) as { delayMs: number };
        expect(next.delayMs).toBeLessThanOrEqual(3_600_000);
        expect(next.delayMs).toBeGreaterThanOrEqual(Math.floor(3_600_000 * (1 - jitter)));
      }),
      { seed: 34 },
    );
  });
});

describe("B11: the allocator", () => {
  const heads = (...slots: number[]) => slots.map((n, i) => ({ id: `r${i}`, slots: n }));

  it("K44: pool of 24; 12, 12 and 16 slots: 12 + 12 first, 16 later", () => {
    const first = allocate({ key: "pool:p", slots: 24, used: 0 }, heads(12, 12, 16));
    expect(first.granted).toEqual(["r0", "r1"]);
    expect(first.reasons.get("r2")).toBe('pool "p" is full: 24 of 24 in use, needs 16');
    expect(allocate({ key: "pool:p", slots: 24, used: 0 }, heads(16)).granted).toEqual(["r0"]);
  });

  it("K45: a request bigger than its pool says so and holds up nobody", () => {
    const answer = allocate({ key: "pool:p", slots: 2, used: 0 }, heads(4, 1));
    expect(answer.granted).toEqual(["r1"]);
    expect(answer.reasons.get("r0")).toBe('can never run: needs 4, pool "p" has 2');
  });

  it("K48: a pool that does not exist is the reason shown", () => {
    expect(allocate({ key: "pool:nope", slots: null, used: 0 }, heads(1)).reasons.get("r0")).toBe(
      'can never run: pool "nope" does not exist',
    );
  });

  it("after a shrink nothing is granted until use is below the limit", () => {
    expect(allocate({ key: "pool:p", slots: 4, used: 7 }, heads(1)).granted).toEqual([]);
    expect(allocate({ key: "pool:p", slots: 4, used: 3 }, heads(1, 1)).granted).toEqual(["r0"]);
  });

  it("never above the ceiling, always in order, every request granted or told why", () => {
    fc.assert(
      fc.property(fc.nat(40), fc.nat(60), fc.array(fc.integer({ min: 1, max: 50 })), (slots, used, asked) => {
        const requests = heads(...asked);
        const { granted, reasons } = allocate({ key: "pool:p", slots, used }, requests);
        const taken = granted.reduce((sum, id) => sum + requests.find((r) => r.id === id)!.slots, 0);
        if (granted.length > 0) expect(used + taken).toBeLessThanOrEqual(slots);
        expect(granted.length + reasons.size).toBe(requests.length);
        const possible = requests.filter((r) => r.slots <= slots).map((r) => r.id);
        expect(granted).toEqual(possible.slice(0, granted.length));
      }),
      { seed: 44, numRuns: 2000 },
    );
  });
});

describe("K68: ids", () => {
  it("K68: run ids are safe text and read back exactly", () => {
    const at = Date.UTC(2026, 4, 9, 1, 2, 3);
    expect(runIdOf(at)).toBe("2026-05-09T01-02-03Z");
    expect(runIdOf(at + 7, 2)).toBe("2026-05-09T01-02-03-007Z.fork-2");
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4e12 }), fc.nat(99), (logicalAt, fork) => {
        expect(isId(runIdOf(logicalAt, fork))).toBe(true);
        expect(parseRunId(runIdOf(logicalAt, fork))).toEqual({ logicalAt, fork });
      }),
      { seed: 68 },
    );
  });
  it("K69: nothing that leaves a folder is an id", () => {
    for (const text of [
      "..",
      "../x",
      "%2e%2e%2f",
      "..\\x",
      "a\0b",
      "a/b",
      "",
      ".a",
      "a.",
      "a..b",
      "a b",
      "ü",
    ]) {
      expect(isId(text), text).toBe(false);
    }
    for (const text of ["a", "sales_daily", "a.b.c", "x-1"]) expect(isId(text), text).toBe(true);
  });
});
