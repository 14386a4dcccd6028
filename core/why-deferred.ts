/** Why a task that waits without a slot does not go on (F16), in words. Pure. */

export const WAIT_KINDS = ["sensor", "event", "time", "run"] as const;
export type WaitKind = (typeof WAIT_KINDS)[number];

/** What is known of a wait. Instants are epoch ms. */
export interface WaitFacts {
  readonly kind: WaitKind;
  /** Of a wait for another run; `taskId` null: the run as a whole. */
  readonly other: { readonly dagId: string; readonly runId: string; readonly taskId: string | null } | null;
  /** The next check, or the time that is waited for. */
  readonly nextAt: number | null;
  /** Its time-out. */
  readonly until: number | null;
  readonly checks: number;
  /** Whose workers check it. */
  readonly queue: string;
  readonly check: "under way" | "overdue" | null;
  /** It has ended, and its run has not said that it knows. */
  readonly isOver: boolean;
}

export function whyDeferred(facts: WaitFacts): string {
  return facts.isOver ? "its wait has ended, and its run is being told" : WORDS[facts.kind](facts);
}

const WORDS: { readonly [K in WaitKind]: (facts: WaitFacts) => string } = {
  event: ({ until }) => `waits for somebody to end it${untilText(until)}`,
  time: ({ nextAt, until }) =>
    `waits until ${instant(nextAt)}${until === null ? "" : `; its time-out is at ${instant(until)}`}`,
  sensor: (facts) => `waits for its check to say yes${untilText(facts.until)}${checksText(facts)}`,
  run: (facts) => `waits for ${otherText(facts.other)}${untilText(facts.until)}${checksText(facts)}`,
};

const instant = (at: number | null): string =>
  at === null ? "?" : new Date(at).toISOString().replace(/\.\d+Z$/, "Z");

const untilText = (until: number | null): string => (until === null ? "" : `, until ${instant(until)}`);

function otherText(other: WaitFacts["other"]): string {
  if (other === null) return "another run";
  const run = `run ${other.runId} of dag "${other.dagId}"`;
  return other.taskId === null ? run : `task "${other.taskId}" of ${run}`;
}

function checksText({ checks, check, nextAt, queue }: WaitFacts): string {
  const made = checks === 0 ? "" : `checked ${checks === 1 ? "once" : `${checks} times`}, `;
  if (check === "under way") return `; ${made}being checked now`;
  if (check === "overdue")
    return `; ${made}the check of ${instant(nextAt)} is overdue: is there a worker of queue "${queue}"?`;
  return `; ${made}next at ${instant(nextAt)}`;
}
