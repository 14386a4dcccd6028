import type { BodyOutcome, LogLine } from "../../core/body.ts";
import { labelText } from "../../core/map-label.ts";
import type { Host } from "./host.ts";
import type { BodyJob } from "./types.ts";

/** Why a try is being stopped; decides its outcome, whatever the body still answers (K36). */
export type Stop = "timed_out" | "cancelled" | "requeued";

/** One try inside the runner, from the call of `run` to its outcome. */
export class Attempt {
  readonly n: number;
  readonly job: BodyJob;
  /** Bundle and task: what is remembered about a body that harmed its thread. */
  readonly pair: string;
  readonly outcome: Promise<BodyOutcome>;
  host: Host | null = null;
  /** File URL of its bundle, and its context and inputs as text: known before it is given to a host. */
  bundle = "";
  text = "";
  stop: { readonly why: Stop; readonly message: string; readonly at: number } | null = null;
  settled = false;
  limit: NodeJS.Timeout | null = null;
  grace: NodeJS.Timeout | null = null;
  readonly #log: (line: LogLine) => void;
  #resolve: (outcome: BodyOutcome) => void = () => undefined;

  constructor(n: number, job: BodyJob, log: (line: LogLine) => void) {
    this.n = n;
    this.job = job;
    this.pair = `${job.bundleHash}/${job.context.dagId}/${job.context.taskId}`;
    this.#log = log;
    this.outcome = new Promise((resolve) => (this.#resolve = resolve));
  }

  log(line: LogLine): void {
    if (this.settled) return;
    try {
      this.#log(line);
    } catch {
      // A log that cannot be kept is no reason to lose the try.
    }
  }

  label(given: string): void {
    const text = labelText(given);
    if (!this.settled && text !== null) this.job.onLabel?.(text);
  }

  note(level: LogLine["level"], text: string): void {
    this.log({ at: Date.now(), level, text });
  }

  /** The first outcome counts; a stop decided before it overrules what the body says. */
  settle(outcome: BodyOutcome): void {
    if (this.settled) return;
    this.settled = true;
    if (this.limit !== null) clearTimeout(this.limit);
    if (this.grace !== null) clearTimeout(this.grace);
    this.#resolve(this.stopped ?? outcome);
  }

  get stopped(): BodyOutcome | null {
    if (this.stop === null) return null;
    const { why, message } = this.stop;
    if (why !== "timed_out") return { kind: why, message };
    return { kind: why, error: { code: "execution_timeout", message, retryable: true } };
  }
}
