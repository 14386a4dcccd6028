const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const TEXT = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

/** What `parseDuration` takes, for messages. */
export const DURATION_RULE = 'a number of milliseconds or a text like "30s", "5m", "1h", "2d"';

/** Milliseconds of a duration, or undefined when it is none: negative, not finite, no unit, parts of a millisecond. */
export function parseDuration(value: unknown): number | undefined {
  const ms = typeof value === "string" ? msOfText(value) : value;
  return typeof ms === "number" && Number.isSafeInteger(ms) && ms >= 0 ? ms : undefined;
}

function msOfText(text: string): number | undefined {
  const m = TEXT.exec(text.trim());
  if (m === null) return undefined;
  const ms = Number(m[1]) * UNIT_MS[m[2] as keyof typeof UNIT_MS];
  // 1.1s is 1100.0000000000002 in binary; anything further from a whole number is a real fraction.
  return Math.abs(ms - Math.round(ms)) < 1e-6 ? Math.round(ms) : undefined;
}
