import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { BodyOutcome, LogLine } from "../../core/body.ts";
import { Attempt, type Stop } from "./attempt.ts";
import { BodyProcess } from "./body-process.ts";
import type { Channel, ChannelEvents } from "./channel.ts";
import { openChild } from "./child.ts";
import { CodeFiles } from "./code-files.ts";
import { Host, type HostEvents } from "./host.ts";
import { TICK_MS, type Ended, type JobText, type ToHost } from "./messages.ts";
import type { RunnerOptions } from "./options.ts";
import { failed, loadFailure, requeued, seconds, stoppedAs } from "./outcomes.ts";
import { maskOf, type Mask } from "../../platform/mask.ts";
import { Suspects, type Quarantine } from "./suspects.ts";
import { Threads } from "./threads.ts";
import type { BodyJob, Runner } from "./types.ts";

/** A thread that does not turn its event loop cannot hear an abort: no use waiting longer. */
const DEAF_GRACE_MS = 200;
/** Between attempts to get a bundle onto the disk. */
const LOAD_AGAIN_MS = 5_000;
/** Node takes a longer one for none. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const SHUTTING_DOWN = "the worker is shutting down";

export type { RunnerOptions } from "./options.ts";

/**
 * Runs task bodies in a small set of threads, in a process beside the Temporal worker (design 7): whatever a body
 * does, the worker's heartbeats and its other work go on.
 */
export function createRunner(options: RunnerOptions): Runner {
  return new BodyRunner(options);
}

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
  readonly #process: BodyProcess;
  readonly #threads: Threads;
  readonly #events: HostEvents;
  readonly #start: ToHost;
  readonly #mask: Mask;
  readonly #watch: NodeJS.Timeout;
  /** Waiting for a place: on a shared thread, on one alone, in a process. */
  readonly #waiting = { shared: new Set<Attempt>(), alone: new Set<Attempt>(), own: new Set<Attempt>() };
  #count = 0;
  #draining: Promise<void> | null = null;
  #whenIdle: () => void = () => undefined;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#blockedAfterMs = options.blockedAfterMs ?? 10_000;
    this.#killGraceMs = options.killGraceMs ?? 5_000;
    this.#code = new CodeFiles(options.codeFolder);
    this.#start = {
      t: "start",
      codeFolder: this.#code.url,
      spoolFolder: resolve(options.spoolFolder ?? join(options.codeFolder, "spool")),
      connections: options.connections,
    };
    this.#mask = maskOf(options.connections);
    this.#events = {
      onReady: () => this.#assign(),
      onStarted: (attempt) => this.#limit(attempt),
      onFree: (host, attempt) => this.#left(host, attempt),
      onCrash: (host, why, attempts) => this.#crashed(host, why, attempts),
    };
    const memoryMb = options.threadMemoryMb ?? 1_024;
    this.#process = new BodyProcess({
      onDeath: (message) => this.#died(message),
      onOutput: (level, text) => this.#log(level, this.#mask(text)),
    });
    this.#threads = new Threads({
      threads: Math.max(1, options.threads),
      bundlesPerThread: options.bundlesPerThread ?? 500,
      memoryMb,
      open: (events) => this.#process.openThread(memoryMb, events),
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
    if (signal.aborted) return stoppedAs(signal);
    this.#count = (this.#count % 0x7fff_ffff) + 1;
    const attempt = new Attempt(this.#count, job, log);
    const onAbort = (): void => {
      const { kind, message } = stoppedAs(signal);
      this.#stop(attempt, kind, message);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    this.#attempts.add(attempt);
    this.#process.hold(true);
    this.#watch.ref();
    void this.#begin(attempt);
    const outcome = await attempt.outcome;
    signal.removeEventListener("abort", onAbort);
    this.#attempts.delete(attempt);
    if (this.#attempts.size === 0) {
      this.#process.hold(false);
      this.#watch.unref();
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
    await this.#process.close();
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
      const { context, inputs, inputFiles = {}, asked = {} } = job;
      const labelled = job.onLabel !== undefined;
      const text: Readonly<JobText> = { context, inputs, inputFiles, asked, labelled };
      attempt.text = JSON.stringify(text);
    } catch (error) {
      return attempt.settle(failed("bad_input", `its inputs are no plain data: ${String(error)}`, false));
    }
    try {
      attempt.bundle = await this.#code.urlOf(job.bundleHash, job.loadBundle);
    } catch (error) {
      const failure = loadFailure(error, job.bundleHash);
      // Another try at once would meet the same disk or database: it waits here, as one that runs.
      if (failure.kind === "requeued") await sleep(LOAD_AGAIN_MS, undefined, { ref: false });
      return attempt.settle(failure);
    }
    if (attempt.settled) return;
    const place = job.isolation === "own" ? "own" : (this.#suspects.placeOf(attempt.pair) ?? "shared");
    this.#waiting[place].add(attempt);
    this.#assign();
  }

  #assign(): void {
    const { shared, alone, own } = this.#waiting;
    for (const attempt of shared) {
      const host = this.#threads.pick(attempt.bundle);
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
    const wait = (leftMs: number): void => {
      const ms = Math.min(leftMs, LONGEST_TIMER_MS);
      attempt.limit = setTimeout(() => {
        if (leftMs > ms) wait(leftMs - ms);
        else this.#stop(attempt, "timed_out", message);
      }, ms);
    };
    wait(limitMs);
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
      this.#suspect(host.current === undefined ? host.attempts.values() : [host.current], "alone");
    } else if (others) this.#suspect([attempt], "alone");
    void this.#end(host, `${nameOf(attempt)} on the same thread did not stop when told to`);
  }

  async #end(host: Host, message: string): Promise<void> {
    const attempts = [...host.attempts.values()];
    if (this.#processes.has(host)) {
      host.state = "ended";
      await host.channel.end();
    } else if (!(await this.#threads.end(host))) {
      // A process can be killed whatever it does.
      this.#suspect(host.current === undefined ? attempts : [host.current], "own");
    }
    for (const attempt of attempts) host.free(attempt, requeued(message));
    this.#assign();
  }

  #left(host: Host, attempt: Attempt): void {
    this.#processes.delete(host);
    const apart = host.exclusive || host.channel.vitals === null;
    if (apart && !host.wasBlocked && attempt.stop === null) this.#suspects.clear(attempt.pair);
    if (host.attempts.size === 0) {
      host.exclusive = false;
      host.wasBlocked = false;
      if (host.retiring !== null) this.#threads.tend();
    }
    this.#assign();
  }

  /** A thread, or the process of one body, has ended by itself. */
  #crashed(host: Host, why: Ended, attempts: readonly Attempt[]): void {
    const guilty = attempts.length === 1 && host.wasReady && host.hasTakenAll ? attempts[0] : host.current;
    this.#threads.lost(host, why.message);
    this.#blame(attempts, guilty, why.code, why.message, why.code === "out_of_memory" ? "own" : "alone");
  }

  /** The process of the threads has died. Which body has done it cannot be told, unless there was one only. */
  #died(message: string): void {
    const attempts = this.#threads.allLost().flatMap((host) => [...host.attempts.values()]);
    this.#log("error", `${message} with ${attempts.length} bodies in it`);
    this.#blame(attempts, attempts.length === 1 ? attempts[0] : undefined, "process_died", message, "own");
    this.#threads.tend();
  }

  #blame(
    attempts: readonly Attempt[],
    guilty: Attempt | undefined,
    code: string,
    message: string,
    place: Quarantine,
  ): void {
    for (const attempt of attempts) {
      attempt.host?.free(attempt, attempt === guilty ? failed(code, message) : requeued(message));
    }
    this.#suspect(guilty === undefined ? attempts : [guilty], place);
    this.#assign();
  }

  #suspect(attempts: Iterable<Attempt>, place: Quarantine): void {
    for (const attempt of attempts) this.#suspects.add(attempt.pair, place);
  }

  #look(): void {
    const now = performance.now();
    for (const host of this.#threads.all) {
      if (host.silent) this.#stopDeaf(host, now);
      if (host.silentMs > this.#blockedAfterMs) this.#blocked(host);
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
      this.#suspect([first], "alone");
      first.note("warn", `this body ${text}; alone on its thread it may go on`);
      return;
    }
    const { current } = host;
    if (host.attempts.size > 1)
      this.#suspect(current === undefined ? host.attempts.values() : [current], "alone");
    const message = `its thread ${text}${current === undefined ? "" : `, held by ${nameOf(current)}`}`;
    this.#log("warn", `a body thread with ${host.attempts.size} bodies is ended: ${message}`);
    void this.#end(host, message);
  }

  #log(level: LogLine["level"], text: string): void {
    this.#options.log({ at: Date.now(), level, text });
  }
}
