import type { BodyOutcome, LogLine } from "../../core/body.ts";
import { MeridianError } from "../../core/errors.ts";
import { Attempt, type Stop } from "./attempt.ts";
import type { Channel, ChannelEvents, Ended } from "./channel.ts";
import { openChild } from "./child.ts";
import { CodeFiles } from "./code-files.ts";
import { Host, type HostEvents } from "./host.ts";
import { TICK_MS, type JobText, type ToHost } from "./messages.ts";
import { maskOf, type Mask } from "./mask.ts";
import { Suspects } from "./suspects.ts";
import { Threads } from "./threads.ts";
import type { BodyJob, Runner } from "./types.ts";

export interface RunnerOptions {
  /** Shared threads kept ready. */
  readonly threads: number;
  /** Where bundles lie as files; inside the project, so that packages resolve. */
  readonly codeFolder: string;
  /** Values by lower-case name. */
  readonly connections: Readonly<Record<string, string>>;
  /** A thread silent for longer, with several bodies on it, is ended. Default 10 s. */
  readonly blockedAfterMs?: number;
  /** From the abort signal to the end of the thread. Default 5 s. */
  readonly killGraceMs?: number;
  /** Heap of a shared thread. Default 1,024 MB. */
  readonly threadMemoryMb?: number;
  /** Heap of a body with a process of its own. Default 1,024 MB. */
  readonly ownMemoryMb?: number;
  /** Code cannot be unloaded: a thread is replaced after so many bundles. Default 500. */
  readonly bundlesPerThread?: number;
  /** Processes at once for `isolation: "own"`; more wait. Default 32. */
  readonly processes?: number;
  /** The runner's own log, not a try's. */
  readonly log: (line: LogLine) => void;
}

/** A thread that does not turn its event loop cannot hear an abort: no use waiting longer. */
const DEAF_GRACE_MS = 200;
const SHUTTING_DOWN = "the worker is shutting down";

/** Runs task bodies in a small set of threads, beside the Temporal worker (design 7). */
export function createRunner(options: RunnerOptions): Runner {
  return new BodyRunner(options);
}

const requeued = (message: string): BodyOutcome => ({ kind: "requeued", message });
const failed = (code: string, message: string, retryable = true): BodyOutcome => ({
  kind: "failed",
  error: { code, message, retryable },
});
const seconds = (ms: number): string => `${ms / 1000} s`;
const nameOf = ({ job: { context } }: Attempt): string =>
  `task "${context.taskId}" of dag "${context.dagId}"`;

class BodyRunner implements Runner {
  readonly #options: RunnerOptions;
  readonly #blockedAfterMs: number;
  readonly #killGraceMs: number;
  readonly #attempts = new Set<Attempt>();
  readonly #processes = new Set<Host>();
  readonly #suspects = new Suspects();
  readonly #code: CodeFiles;
  readonly #threads: Threads;
  readonly #events: HostEvents;
  readonly #start: ToHost;
  readonly #mask: Mask;
  readonly #watch: NodeJS.Timeout;
  /** Waiting for a place: on a shared thread, on one alone, in a process. */
  readonly #waiting = { shared: new Set<Attempt>(), alone: new Set<Attempt>(), own: new Set<Attempt>() };
  #count = 0;
  #lastLook = performance.now();
  #draining: Promise<void> | null = null;
  #whenIdle: () => void = () => undefined;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#blockedAfterMs = options.blockedAfterMs ?? 10_000;
    this.#killGraceMs = options.killGraceMs ?? 5_000;
    this.#code = new CodeFiles(options.codeFolder);
    this.#start = { t: "start", codeFolder: this.#code.url, connections: options.connections };
    this.#mask = maskOf(options.connections);
    this.#events = {
      onReady: () => this.#assign(),
      onStarted: (attempt) => this.#limit(attempt),
      onFree: (host, attempt) => this.#left(host, attempt),
      onCrash: (host, why, attempts) => this.#crashed(host, why, attempts),
    };
    this.#threads = new Threads({
      threads: Math.max(1, options.threads),
      bundlesPerThread: options.bundlesPerThread ?? 500,
      memoryMb: options.threadMemoryMb ?? 1_024,
      start: this.#start,
      log: (level, text) => this.#log(level, text),
      events: this.#events,
    });
    this.#watch = setInterval(() => this.#look(), TICK_MS);
    this.#watch.unref();
  }

  get running(): number {
    return this.#attempts.size;
  }

  async run(job: BodyJob, signal: AbortSignal, log: (line: LogLine) => void): Promise<BodyOutcome> {
    if (this.#draining !== null) return requeued(SHUTTING_DOWN);
    if (signal.aborted) return { kind: "cancelled", message: reasonOf(signal) };
    this.#count = (this.#count % 0x7fff_ffff) + 1;
    const attempt = new Attempt(this.#count, job, log);
    const onAbort = (): void => this.#stop(attempt, "cancelled", reasonOf(signal));
    signal.addEventListener("abort", onAbort, { once: true });
    this.#attempts.add(attempt);
    this.#threads.hold(true);
    void this.#begin(attempt);
    const outcome = await attempt.outcome;
    signal.removeEventListener("abort", onAbort);
    this.#attempts.delete(attempt);
    if (this.#attempts.size === 0) {
      this.#threads.hold(false);
      this.#whenIdle();
    }
    return outcome;
  }

  drain(graceMs: number): Promise<void> {
    this.#draining ??= this.#drain(graceMs);
    return this.#draining;
  }

  async #drain(graceMs: number): Promise<void> {
    for (const waiting of Object.values(this.#waiting)) {
      for (const attempt of waiting) attempt.settle(requeued(SHUTTING_DOWN));
      waiting.clear();
    }
    await this.#idleWithin(graceMs);
    for (const attempt of this.#attempts) this.#stop(attempt, "requeued", SHUTTING_DOWN);
    // The threads' own ends take their time; what is left then is answered though its code may not have stopped.
    await this.#idleWithin(this.#killGraceMs + DEAF_GRACE_MS);
    clearInterval(this.#watch);
    await Promise.all([this.#threads.close(), ...[...this.#processes].map((host) => host.channel.end())]);
    for (const attempt of this.#attempts) attempt.settle(requeued(SHUTTING_DOWN));
  }

  async #idleWithin(ms: number): Promise<void> {
    if (this.#attempts.size === 0) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#whenIdle = resolve;
      timer = setTimeout(resolve, ms);
    });
    clearTimeout(timer);
  }

  async #begin(attempt: Attempt): Promise<void> {
    const { job } = attempt;
    try {
      attempt.text = JSON.stringify({ context: job.context, inputs: job.inputs } satisfies JobText);
    } catch (error) {
      return attempt.settle(failed("bad_input", `its inputs are no plain data: ${String(error)}`, false));
    }
    try {
      attempt.bundle = await this.#code.urlOf(job.bundleHash, job.loadBundle);
    } catch (error) {
      return attempt.settle(loadFailure(error, job.bundleHash));
    }
    if (attempt.settled) return;
    const place = job.isolation === "own" ? "own" : this.#suspects.has(attempt.pair) ? "alone" : "shared";
    this.#waiting[place].add(attempt);
    this.#assign();
  }

  #assign(): void {
    const { shared, alone, own } = this.#waiting;
    for (const attempt of shared) {
      const host = this.#threads.pick();
      if (host === null) break;
      shared.delete(attempt);
      host.give(attempt);
    }
    for (const attempt of alone) {
      const host = this.#threads.reserve();
      if (host === null) break;
      alone.delete(attempt);
      host.give(attempt);
    }
    for (const attempt of own) {
      if (this.#processes.size >= (this.#options.processes ?? 32)) break;
      own.delete(attempt);
      this.#openProcess().give(attempt);
    }
    if (alone.size > 0) this.#threads.tend(alone.size);
  }

  #openProcess(): Host {
    const memoryMb = this.#options.ownMemoryMb ?? 1_024;
    const open = (events: ChannelEvents): Channel =>
      openChild(memoryMb, { ...events, onOutput: (level, text) => events.onOutput(level, this.#mask(text)) });
    const host = new Host(open, this.#events);
    host.channel.post(this.#start);
    this.#processes.add(host);
    return host;
  }

  /** The body has begun: its execution time-out counts from here. */
  #limit(attempt: Attempt): void {
    const limitMs = attempt.job.executionTimeoutMs;
    if (limitMs === null || attempt.settled) return;
    const message = `did not end within its execution time-out of ${seconds(limitMs)}`;
    attempt.limit = setTimeout(() => this.#stop(attempt, "timed_out", message), limitMs);
  }

  /** Signal, grace, end of the thread. The outcome is decided now, whatever the body still answers. */
  #stop(attempt: Attempt, why: Stop, message: string): void {
    if (attempt.settled || attempt.stop !== null) return;
    attempt.stop = { why, message, at: performance.now() };
    if (attempt.host === null) {
      for (const waiting of Object.values(this.#waiting)) waiting.delete(attempt);
      return attempt.settle(requeued(message));
    }
    attempt.host.channel.post({ t: "abort", n: attempt.n, reason: message });
    attempt.grace = setTimeout(() => this.#giveUp(attempt), this.#killGraceMs);
  }

  #giveUp(attempt: Attempt): void {
    const { host } = attempt;
    if (attempt.settled || host === null || host.state === "ended") return;
    const others = host.attempts.size > 1;
    if (others && host.silent && host.current !== attempt) {
      // Another body may hold the thread: then this one's time was not its own.
      const message = "another body on its thread may have held up this one";
      if (attempt.stop?.why === "timed_out") attempt.stop = { ...attempt.stop, why: "requeued", message };
      this.#suspect(host);
    } else if (others) this.#suspects.add(attempt.pair);
    void this.#end(host, `${nameOf(attempt)} on the same thread did not stop when told to`);
  }

  async #end(host: Host, message: string): Promise<void> {
    const attempts = [...host.attempts.values()];
    if (this.#processes.has(host)) {
      host.state = "ended";
      await host.channel.end();
    } else await this.#threads.end(host);
    for (const attempt of attempts) host.free(attempt, requeued(message));
    this.#assign();
  }

  #left(host: Host, attempt: Attempt): void {
    this.#processes.delete(host);
    if (host.exclusive && host.attempts.size === 0) {
      host.exclusive = false;
      if (!host.wasBlocked && attempt.stop === null) this.#suspects.clear(attempt.pair);
    }
    if (host.attempts.size === 0) host.wasBlocked = false;
    if (host.retiring !== null) this.#threads.tend();
    this.#assign();
  }

  #crashed(host: Host, why: Ended, attempts: readonly Attempt[]): void {
    const guilty = attempts.length === 1 && host.hasTakenAll ? attempts[0] : host.current;
    this.#threads.lost(host, why.message);
    if (guilty === undefined) this.#suspect(host);
    for (const attempt of attempts) {
      host.free(attempt, attempt === guilty ? failed(why.code, why.message) : requeued(why.message));
    }
    this.#processes.delete(host);
    this.#assign();
  }

  /** Each runs alone next time: the innocent then finish, and the guilty one harms only itself. */
  #suspect(host: Host): void {
    if (host.current !== undefined) return this.#suspects.add(host.current.pair);
    for (const attempt of host.attempts.values()) this.#suspects.add(attempt.pair);
  }

  #look(): void {
    const now = performance.now();
    const late = Math.max(0, now - this.#lastLook - 2 * TICK_MS);
    this.#lastLook = now;
    for (const host of this.#threads.all) {
      const silentMs = host.look(now, late);
      if (host.silent) this.#stopDeaf(host, now);
      if (silentMs > this.#blockedAfterMs) this.#blocked(host);
    }
    this.#threads.tend(this.#waiting.alone.size);
    this.#assign();
  }

  #stopDeaf(host: Host, now: number): void {
    for (const attempt of host.attempts.values()) {
      if (attempt.stop !== null && now - attempt.stop.at > DEAF_GRACE_MS) return this.#giveUp(attempt);
    }
  }

  #blocked(host: Host): void {
    if (host.state === "ended") return;
    const [first, second] = host.attempts.values();
    const text = `has not turned its event loop for ${seconds(this.#blockedAfterMs)}`;
    if (first !== undefined && second === undefined && host.hasTakenAll) {
      if (host.wasBlocked) return;
      host.wasBlocked = true;
      this.#suspects.add(first.pair);
      first.note("warn", `this body ${text}; alone on its thread it may go on`);
      return;
    }
    const { current } = host;
    if (host.attempts.size > 1) this.#suspect(host);
    const message = `its thread ${text}${current === undefined ? "" : `, held by ${nameOf(current)}`}`;
    this.#log("warn", `a body thread with ${host.attempts.size} bodies is ended: ${message}`);
    void this.#end(host, message);
  }

  #log(level: LogLine["level"], text: string): void {
    this.#options.log({ at: Date.now(), level, text });
  }
}

function reasonOf(signal: AbortSignal): string {
  const reason: unknown = signal.reason;
  return reason instanceof Error ? reason.message : typeof reason === "string" ? reason : "asked to stop";
}

/** Code that is not there cannot be helped by another try; a store that does not answer can. */
function loadFailure(error: unknown, hash: string): BodyOutcome {
  const message = `the code ${hash} could not be loaded: ${error instanceof Error ? error.message : String(error)}`;
  if (error instanceof MeridianError && error.kind !== "retryable") return failed(error.code, message, false);
  return requeued(message);
}
