import type { LogLine } from "../../core/body.ts";
import type { Channel, ChannelEvents } from "./channel.ts";
import { Host, type HostEvents } from "./host.ts";
import type { ToHost } from "./messages.ts";

/** Threads beyond the wanted number, in place of blocked and reserved ones. */
const EXTRA = 8;
/** Share of its memory at which a thread is replaced; what ended bodies leaked goes with it. */
const HEAP_SHARE = 0.7;
/** A thread silent for so long counts as lost for new bodies, and another is started if there is none. */
const GROW_AFTER_MS = 1_500;
/** So many bodies more may wait on a thread for the sake of an import: it costs its thread some milliseconds. */
const IMPORT_WORTH = 4;
const SURPLUS_IDLE_MS = 10_000;
const START_MS = 60_000;
const RESTART_DELAY_MS = 1_000;

export interface ThreadsOptions {
  readonly threads: number;
  readonly memoryMb: number;
  readonly bundlesPerThread: number;
  readonly open: (events: ChannelEvents) => Channel;
  /** Sent first to each new thread. */
  readonly start: ToHost;
  readonly log: (level: LogLine["level"], text: string) => void;
  readonly events: HostEvents;
}

/** The set of shared threads: keeps the wanted number ready, replaces what is worn, blocked or gone. */
export class Threads {
  readonly #options: ThreadsOptions;
  readonly #hosts = new Set<Host>();
  /** Ended, but their code may still be running. */
  #leaving = 0;
  #closed = false;
  #notBefore = 0;

  constructor(options: ThreadsOptions) {
    this.#options = options;
    this.tend();
  }

  get all(): readonly Host[] {
    return [...this.#hosts];
  }

  /**
   * The least loaded thread that answers; a worn one until its replacement is ready. Where none is idle, one that has the
   * bundle already may have a few bodies more than that.
   */
  pick(bundle: string): Host | null {
    const least = this.#least((host) => host.open) ?? this.#least((host) => this.#worn(host));
    if (least === null || least.attempts.size === 0 || least.bundles.has(bundle)) return least;
    const knowing = this.#least((host) => host.open && host.bundles.has(bundle));
    return knowing !== null && knowing.attempts.size <= least.attempts.size + IMPORT_WORTH ? knowing : least;
  }

  /** An idle thread, from now on for one body alone. */
  reserve(): Host | null {
    for (const host of this.#hosts) {
      if (!host.open || host.attempts.size > 0) continue;
      host.exclusive = true;
      this.tend();
      return host;
    }
    return null;
  }

  /** Starts, replaces and ends threads so that the wanted number takes bodies. `waiting`: bodies that need one alone. */
  tend(waiting = 0): void {
    if (this.#closed) return;
    const now = performance.now();
    for (const host of this.#hosts) this.#wear(host, now);
    const common = this.all.filter((host) => host.common);
    const usable = common.filter((host) => host.silentMs < GROW_AFTER_MS);
    const idle = common.filter((host) => host.attempts.size === 0);
    let missing = Math.max(this.#options.threads - common.length, usable.length === 0 ? 1 : 0);
    if (waiting > idle.length) missing = Math.max(missing, 1);
    while (missing-- > 0 && !this.#full && now >= this.#notBefore) this.#start();
    const surplus = idle.find((host) => host.state === "ready" && now - host.idleSince > SURPLUS_IDLE_MS);
    if (common.length > this.#options.threads && surplus !== undefined) void this.end(surplus);
  }

  /** Ends a thread; its tries stay with the caller. Resolves when its code has stopped, or cannot be stopped (false). */
  async end(host: Host): Promise<boolean> {
    host.state = "ended";
    if (!this.#hosts.delete(host)) return true;
    this.#leaving += 1;
    this.tend();
    const ended = await host.channel.end();
    this.#leaving -= 1;
    if (!ended) this.#options.log("error", "a body thread is inside native code and cannot be ended");
    this.tend();
    return ended;
  }

  /** It has ended by itself. */
  lost(host: Host, message: string): void {
    if (!this.#hosts.delete(host)) return;
    this.#options.log("warn", `a body thread is gone: ${message}`);
    this.#delayIfYoung(host);
    this.tend();
  }

  /** The process around all of them has died. */
  allLost(): readonly Host[] {
    const hosts = this.all;
    for (const host of hosts) {
      host.state = "ended";
      this.#hosts.delete(host);
      this.#delayIfYoung(host);
    }
    return hosts;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.all.map((host) => this.end(host)));
  }

  get #full(): boolean {
    return this.#hosts.size + this.#leaving >= this.#options.threads + EXTRA;
  }

  #worn(host: Host): boolean {
    return host.state === "ready" && !host.exclusive && !host.silent;
  }

  #least(fits: (host: Host) => boolean): Host | null {
    let least: Host | null = null;
    for (const host of this.#hosts) {
      if (fits(host) && (least === null || host.attempts.size < least.attempts.size)) least = host;
    }
    return least;
  }

  #wear(host: Host, now: number): void {
    if (host.state === "starting") {
      if (now - host.openedAt > START_MS) void this.end(host);
      return;
    }
    const { bundlesPerThread, memoryMb } = this.#options;
    if (host.bundles.size >= bundlesPerThread) host.retiring ??= `${bundlesPerThread} bundles imported`;
    if (host.heapMb > HEAP_SHARE * memoryMb) host.retiring ??= `${host.heapMb} MB of heap in use`;
    if (host.retiring !== null && host.attempts.size === 0) void this.end(host);
  }

  /** One that dies before it has run anything would be started again and again. */
  #delayIfYoung(host: Host): void {
    if (host.bundles.size === 0) this.#notBefore = performance.now() + RESTART_DELAY_MS;
  }

  #start(): void {
    const host = new Host(this.#options.open, this.#options.events);
    host.channel.post(this.#options.start);
    this.#hosts.add(host);
  }
}
