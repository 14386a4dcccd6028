/**
 * A day of clicks: an output of some megabytes, which goes to the object store by itself, and a computation that gets a
 * process of its own.
 */
import { dag, skip, task } from "meridian";
import { madeUp } from "./shared/made-up.ts";

const CLICKS = 40_000;
const VISITORS = 600;
const PAGES = ["home", "search", "product", "basket", "paid"];
/** A visitor who was away for so long begins a new session. */
const GAP_MS = 30 * 60_000;
const RESAMPLES = 500;

interface Click {
  at: string;
  visitor: string;
  page: string;
}

interface Session {
  visitor: string;
  clicks: number;
  paid: boolean;
}

export const webSessions = dag(
  "web_sessions",
  {
    schedule: "@daily",
    startDate: "2026-01-01",
    description: "Clicks of a day to sessions, and how many of them pay",
    owner: "web",
    tags: ["example", "outputs", "isolation"],
  },
  () => {
    const clicks = task("clicks", ({ dataInterval, log }) => {
      const rows = clicksIn(dataInterval);
      if (rows.length === 0) skip("the run's interval is empty; give it a day as logical date");
      log.info(`${rows.length} clicks`);
      return rows;
    });

    // Reads the megabytes as if they were small.
    const sessions = task("sessions", { inputs: { clicks } }, ({ inputs, log }) => {
      const found = sessionsOf(inputs.clicks);
      log.info(`${inputs.clicks.length} clicks are ${found.length} sessions`);
      return found;
    });

    task("top_pages", { inputs: { clicks } }, ({ inputs }) => {
      const counts: Record<string, number> = {};
      for (const { page } of inputs.clicks) counts[page] = (counts[page] ?? 0) + 1;
      return counts;
    });

    // Millions of steps without a pause: in a shared thread they would hold up the tries beside it.
    const conversion = task(
      "conversion",
      { inputs: { sessions }, isolation: "own", executionTimeout: "2m" },
      ({ inputs, ds }) => conversionOf(inputs.sessions, madeUp(`resamples of ${ds}`)),
    );

    task("report", { inputs: { conversion } }, ({ inputs, ds }) => {
      const { low, rate, high } = inputs.conversion;
      return `${ds}: ${percent(rate)} of the sessions pay (95 % sure: ${percent(low)} to ${percent(high)})`;
    });
  },
);

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

/** Stands for reading a day's files. */
function clicksIn({ start, end }: { readonly start: Date; readonly end: Date }): Click[] {
  const lengthMs = end.getTime() - start.getTime();
  if (lengthMs === 0) return [];
  const next = madeUp(`clicks of ${start.toISOString()}`);
  const times = Array.from({ length: CLICKS }, () => Math.floor(next() * lengthMs)).sort((a, b) => a - b);
  return times.map((ms) => ({
    at: new Date(start.getTime() + ms).toISOString(),
    visitor: `visitor-${Math.floor(next() * VISITORS)}`,
    // A high power: the pages further on are seen less often.
    page: PAGES[Math.floor(next() ** 4 * PAGES.length)]!,
  }));
}

/** Clicks come in the order of time. */
function sessionsOf(clicks: readonly Click[]): Session[] {
  const sessions: Session[] = [];
  const open = new Map<string, { session: Session; lastAt: number }>();
  for (const { at, visitor, page } of clicks) {
    const clickedAt = Date.parse(at);
    let last = open.get(visitor);
    if (last === undefined || clickedAt - last.lastAt > GAP_MS) {
      last = { session: { visitor, clicks: 0, paid: false }, lastAt: clickedAt };
      open.set(visitor, last);
      sessions.push(last.session);
    }
    last.lastAt = clickedAt;
    last.session.clicks += 1;
    last.session.paid ||= page === "paid";
  }
  return sessions;
}

/** The share of sessions that pay, and the bounds of 95 of 100 samples drawn from them: a bootstrap. */
function conversionOf(sessions: readonly Session[], next: () => number) {
  const shares = Array.from({ length: RESAMPLES }, () => {
    let paid = 0;
    for (let i = 0; i < sessions.length; i++)
      if (sessions[Math.floor(next() * sessions.length)]!.paid) paid += 1;
    return paid / sessions.length;
  }).sort((a, b) => a - b);
  const at = (share: number): number => shares[Math.floor(share * RESAMPLES)]!;
  return {
    low: at(0.025),
    rate: sessions.filter(({ paid }) => paid).length / sessions.length,
    high: at(0.975),
  };
}
