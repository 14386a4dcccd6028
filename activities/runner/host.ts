import type { BodyOutcome } from "../../core/body.ts";
import type { Attempt } from "./attempt.ts";
import type { Channel, ChannelEvents } from "./channel.ts";
import { isFromHost, type Ended } from "./messages.ts";

/** Three missed ticks: no new bodies for a thread that is silent so long. */
const SILENT_MS = 800;

export interface HostEvents {
  readonly onReady: (host: Host) => void;
  readonly onStarted: (attempt: Attempt) => void;
  readonly onFree: (host: Host, attempt: Attempt) => void;
  /** It ended by itself, with these tries on it. */
  readonly onCrash: (host: Host, why: Ended, attempts: readonly Attempt[]) => void;
}

/** A thread or child process with the tries that run in it. */
export class Host {
  readonly attempts = new Map<number, Attempt>();
  readonly bundles = new Set<string>();
  state: "starting" | "ready" | "ended" = "starting";
  /** No new bodies; ended when idle. */
  retiring: string | null = null;
  /** Reserved for one body that has harmed others, or might have. */
  exclusive = false;
  wasReady = false;
  /** It was silent for longer than is proper while it had its present bodies. */
  wasBlocked = false;
  readonly openedAt = performance.now();
  idleSince = this.openedAt;
  readonly channel: Channel;
  readonly #events: HostEvents;
  #given = 0;

  constructor(open: (events: ChannelEvents) => Channel, events: HostEvents) {
    this.#events = events;
    this.channel = open({
      onMessage: (message) => this.#take(message),
      onEnd: (why) => this.#ended(why),
      onOutput: (level, text) => {
        for (const attempt of this.attempts.values()) attempt.note(level, text);
      },
    });
  }

  give(attempt: Attempt): void {
    const { n, bundle, text, job } = attempt;
    attempt.host = this;
    this.attempts.set(n, attempt);
    this.bundles.add(bundle);
    this.#given = (this.#given + 1) | 0;
    this.channel.post({ t: "run", n, bundle, job: text, timed: job.executionTimeoutMs !== null });
  }

  /** How long its event loop has stood still, as last seen. */
  get silentMs(): number {
    return this.state === "ready" ? (this.channel.vitals?.silentMs ?? 0) : 0;
  }

  get silent(): boolean {
    return this.silentMs > SILENT_MS;
  }

  /** Takes part in the sharing: not reserved, not about to go. */
  get common(): boolean {
    return this.state !== "ended" && !this.exclusive && this.retiring === null;
  }

  get open(): boolean {
    return this.common && this.state === "ready" && !this.silent;
  }

  /** The body whose first synchronous part is being run, if any. */
  get current(): Attempt | undefined {
    return this.attempts.get(this.channel.vitals?.current ?? 0);
  }

  /** Whether all bodies given to it have reached its code. */
  get hasTakenAll(): boolean {
    const { vitals } = this.channel;
    return vitals === null || vitals.taken === this.#given;
  }

  get heapMb(): number {
    return this.channel.vitals?.heapMb ?? 0;
  }

  /** A try leaves it, with the outcome that counts. */
  free(attempt: Attempt, outcome: BodyOutcome): void {
    if (!this.attempts.delete(attempt.n)) return;
    if (this.attempts.size === 0) this.idleSince = performance.now();
    attempt.settle(outcome);
    this.#events.onFree(this, attempt);
  }

  /** A body can reach the channel too: what it says there may be anything, and harms nobody here. */
  #take(message: unknown): void {
    if (!isFromHost(message)) return;
    if (message.t === "lines") {
      const attempt = this.attempts.get(message.n);
      if (attempt !== undefined) for (const line of message.lines) attempt.log(line);
    } else if (message.t === "end") {
      const attempt = this.attempts.get(message.n);
      const outcome = parsed(message.outcome);
      if (attempt !== undefined && outcome !== null) this.#answered(attempt, outcome);
    } else if (message.t === "label") {
      this.attempts.get(message.n)?.label(message.label);
    } else if (message.t === "started") {
      const attempt = this.attempts.get(message.n);
      if (attempt !== undefined) this.#events.onStarted(attempt);
    } else if (message.t === "retire") {
      this.retiring ??= message.reason;
    } else if (this.state === "starting") {
      this.state = "ready";
      this.wasReady = true;
      this.#events.onReady(this);
    }
  }

  #answered(attempt: Attempt, outcome: BodyOutcome): void {
    const { leave } = this.channel;
    if (leave === undefined) return this.free(attempt, outcome);
    this.state = "ended";
    void leave().then(() => this.free(attempt, outcome));
  }

  #ended(why: Ended): void {
    if (this.state === "ended") return;
    this.state = "ended";
    this.#events.onCrash(this, why, [...this.attempts.values()]);
  }
}

/** Null: no outcome, so not of the host's making. */
function parsed(text: string): BodyOutcome | null {
  try {
    const outcome = JSON.parse(text) as BodyOutcome | null;
    return typeof outcome?.kind === "string" ? outcome : null;
  } catch {
    return null;
  }
}
