/** Instants and durations in words. Pure; the zone is an IANA name and always an argument. */

export interface WallClock {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
}

const formatters = new Map<string, Intl.DateTimeFormat>();

function formatterOf(zone: string): Intl.DateTimeFormat {
  let found = formatters.get(zone);
  if (found === undefined) {
    found = new Intl.DateTimeFormat("en-GB", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
    });
    formatters.set(zone, found);
  }
  return found;
}

export function wallClock(at: number, zone: string): WallClock {
  const parts: Record<string, number> = {};
  for (const { type, value } of formatterOf(zone).formatToParts(at)) parts[type] = Number(value);
  const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = parts;
  return { year, month, day, hour, minute, second };
}

const two = (n: number): string => String(n).padStart(2, "0");

/** `2026-05-09` */
export function formatDay(at: number, zone: string): string {
  const w = wallClock(at, zone);
  return `${w.year}-${two(w.month)}-${two(w.day)}`;
}

/** `14:05`, with seconds when asked for. */
export function formatClock(at: number, zone: string, seconds = false): string {
  const w = wallClock(at, zone);
  return `${two(w.hour)}:${two(w.minute)}${seconds ? `:${two(w.second)}` : ""}`;
}

/** `2026-05-09 14:05:00` */
export function formatInstant(at: number, zone: string, seconds = true): string {
  return `${formatDay(at, zone)} ${formatClock(at, zone, seconds)}`;
}

/** A run's date: to the minute, and more precise only where it is, so that runs by hand are told apart. */
export function formatRunDate(at: number, zone: string): string {
  const ms = ((at % 1000) + 1000) % 1000;
  if (ms === 0 && at % 60_000 === 0) return formatInstant(at, zone, false);
  return `${formatInstant(at, zone)}${ms === 0 ? "" : `.${String(ms).padStart(3, "0")}`}`;
}

/** Offset at an instant: `UTC`, `+02:00`. */
export function formatOffset(at: number, zone: string): string {
  const minutes = Math.round((asIfUtc(wallClock(at, zone)) - Math.floor(at / 1000) * 1000) / 60_000);
  if (minutes === 0) return "UTC";
  const abs = Math.abs(minutes);
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(abs / 60))}:${two(abs % 60)}`;
}

function asIfUtc(w: WallClock): number {
  return Date.UTC(w.year, w.month - 1, w.day, w.hour, w.minute, w.second);
}

/** A data interval, as short as it can be said: whole days without clocks, one day once. */
export function formatInterval(startAt: number, endAt: number, zone: string): string {
  if (endAt <= startAt) return formatInstant(startAt, zone, false);
  const start = formatInstant(startAt, zone, false);
  const end = formatInstant(endAt, zone, false);
  if (start.endsWith(" 00:00") && end.endsWith(" 00:00"))
    return `${start.slice(0, 10)} → ${end.slice(0, 10)}`;
  return start.slice(0, 10) === end.slice(0, 10) ? `${start} → ${end.slice(11)}` : `${start} → ${end}`;
}

/** `420 ms`, `12.3 s`, `4 min 05 s`, `2 h 10 min`, `3 d 4 h` */
export function formatDuration(ms: number): string {
  if (ms < 0) return "0 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  const s = Math.floor(ms / 1000);
  if (s < 3600) return `${Math.floor(s / 60)} min ${two(s % 60)} s`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h ${two(Math.floor((s % 3600) / 60))} min`;
  return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3600)} h`;
}

/** `512 B`, `64 KiB`, `12.3 MiB` */
export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const [size, unit] =
    bytes < 1024 ** 2 ? [1024, "KiB"] : bytes < 1024 ** 3 ? [1024 ** 2, "MiB"] : [1024 ** 3, "GiB"];
  return `${(bytes / Number(size)).toFixed(1).replace(/\.0$/, "")} ${unit}`;
}

/** A length someone chose, such as a delay: `5 s`, `1 min`, `1 h 30 min`. */
export function formatSetting(ms: number): string {
  return formatDuration(ms)
    .replace(/\.0 s$/, " s")
    .replace(/ 00 (?:s|min)$/, "")
    .replace(/ 0 h$/, "");
}

const STEPS: readonly (readonly [number, string])[] = [
  [86_400_000 * 365, "y"],
  [86_400_000 * 30, "mo"],
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1000, "s"],
];

/** `in 5 min`, `3 h ago`, `now` */
export function formatRelative(at: number, now: number): string {
  const distance = Math.abs(at - now);
  for (const [size, unit] of STEPS) {
    if (distance < size) continue;
    const text = `${Math.floor(distance / size)} ${unit}`;
    return at > now ? `in ${text}` : `${text} ago`;
  }
  return "now";
}

export type WallResult =
  | { readonly kind: "instant"; readonly at: number; readonly twice: boolean }
  | { readonly kind: "gap" }
  | { readonly kind: "unreadable" };

const WITH_OFFSET = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?\s?(?:Z|UTC|[+-]\d\d:?\d\d)$/i;

/** What people type: a day, a day with a clock (both in the zone), or an instant with its own offset. */
export function parseTyped(text: string, zone: string): WallResult {
  const typed = text.trim();
  if (WITH_OFFSET.test(typed)) {
    const at = Date.parse(typed.replace(/\s?(?:UTC|Z)$/i, "Z").replace(" ", "T"));
    return Number.isNaN(at) ? { kind: "unreadable" } : { kind: "instant", at, twice: false };
  }
  return parseWall(/^\d{4}-\d\d-\d\d$/.test(typed) ? `${typed} 00:00` : typed, zone);
}

/** The inverse of showing: `2026-05-09T14:05` on the clocks of a zone. A time a clock change leaves out is a gap; one shown twice means the first. */
export function parseWall(text: string, zone: string): WallResult {
  const m = /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?$/.exec(text.trim());
  if (m === null) return { kind: "unreadable" };
  const naive = Date.UTC(
    Number(m[1]),
    Number(m[2]) - 1,
    Number(m[3]),
    Number(m[4]),
    Number(m[5]),
    Number(m[6] ?? 0),
  );
  if (!new Date(naive).toISOString().startsWith(`${m[1]}-${m[2]}-${m[3]}T${m[4]}:${m[5]}`))
    return { kind: "unreadable" };
  const day = 86_400_000;
  const offsets = new Set([naive - day, naive, naive + day].map((at) => asIfUtc(wallClock(at, zone)) - at));
  const matches = [...offsets]
    .map((offset) => naive - offset)
    .filter((at) => asIfUtc(wallClock(at, zone)) === naive);
  const first = matches.toSorted((a, b) => a - b)[0];
  return first === undefined ? { kind: "gap" } : { kind: "instant", at: first, twice: matches.length > 1 };
}
