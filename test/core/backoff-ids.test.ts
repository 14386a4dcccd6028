import fc from "fast-check";
import { describe, expect, it } from "vitest";
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
