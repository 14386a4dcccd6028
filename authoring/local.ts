/** A whole run of a DAG in this process, without any server: the same rules as the real one, no pools. */
import type { BodyContext, BodyError, BodyOutcome, LogLine } from "../core/body.ts";
import type { Interval } from "../core/calendar/plan.ts";
import { Terminal } from "../core/errors.ts";
import type { SerialGraph } from "../core/graph.ts";
import { askedOf, planOf, type RunPlan } from "../core/plan.ts";
import { cellAt, newProgress } from "../core/progress.ts";
import { step } from "../core/run.ts";
import type { At, AtTry, Effect, RecordEffect, RunEvent, RunProgress } from "../core/progress.ts";
import type { RunState, TaskState } from "../core/states.ts";
import type { Deferral } from "../core/waits.ts";
import { clockOf, withClock, type Clock } from "./local-clock.ts";
import {
  callerOf,
  checkConf,
  contextOf,
  GRACE_MS,
  intervalOf,
  noConnection,
  waitUrlsOf,
  type Caller,
  type LocalOptions,
} from "./local-context.ts";
import { checkEvents, checkOtherRuns } from "./local-events.ts";
import { inputValues } from "./local-inputs.ts";
import { LocalLabels } from "./local-labels.ts";
import { startTry } from "./local-try.ts";
import type { Limit, RunningTry } from "./local-try.ts";
import type { WaitHost } from "./local-wait-types.ts";
import { limitOf, LocalWaits } from "./local-waits.ts";
import type { Dag } from "./registry.ts";

export interface RunOptions extends LocalOptions {
  /** Hears of each change of a task's state; of an instance by its name: `load[2]`. */
  readonly onState?: ((taskId: string, state: TaskState) => void) | undefined;
  /** Hears what people read beside the index of an instance, by its name, as its first try begins. */
  readonly onLabel?: ((taskId: string, label: string) => void) | undefined;
  /** Hears why a try failed, as it does. */
  readonly onFailedTry?: ((taskId: string, number: number, error: BodyError) => void) | undefined;
  /** Waits before a retry, and between two checks of a sensor. Default: as long, but at most a second. */
  readonly sleep?: ((ms: number) => Promise<void>) | undefined;
  /** Bodies at once. Default 16. */
  readonly parallelism?: number | undefined;
  /**
   * What ends a `waitFor()`, or a body's `defer({ event: true })`, by the id of its task, or the name of an instance:
   * `{ approval: { by: "me" }, "each[2]": null }`. Default none: such a wait fails at once.
   */
  readonly events?: Readonly<Record<string, unknown>> | undefined;
  /** How the other run of a `waitForRun()` went, by the id of its task. Default: it succeeded. */
  readonly otherRuns?: Readonly<Record<string, "success" | "failed">> | undefined;
}

export interface LocalTask {
  readonly state: TaskState;
  /** Of an instance of a mapped task: what people read beside its index; null: nothing. */
  readonly label: string | null;
  /** How many tries began. */
  readonly tries: number;
  /** Undefined: the task has none. */
  readonly output: unknown;
  /** Of the last try, when it failed. */
  readonly error: BodyError | null;
  /** Why it was skipped or cancelled, when it said so. */
  readonly message: string | null;
  readonly log: readonly LogLine[];
}

export interface LocalRun {
  readonly dagId: string;
  readonly runId: string;
  readonly state: RunState;
  readonly logicalDate: Date;
  readonly dataInterval: { readonly start: Date; readonly end: Date };
  /** By id; each instance of a mapped task by its name: `load[2]`. */
  readonly tasks: Readonly<Record<string, LocalTask>>;
}

/**
 * Runs a DAG here and now, for tests and for `meridian dags test`. It cannot stop a body that never gives way. A conf that
 * the DAG's params cannot read is refused before any task runs.
 *
 * @example
 * const run = await runDag(sales, { logicalAt: "2026-05-09", connection: () => testDatabaseUrl });
 * assert.equal(run.state, "success");
 * assert.deepEqual(run.tasks["total"]?.output, 6);
 */
export async function runDag(dag: Dag, options: RunOptions = {}): Promise<LocalRun> {
  const caller = callerOf(runDag);
  const run = new Local(dag, options, caller);
  return await (options.now === undefined ? run.run() : withClock(run.clock, async () => await run.run()));
}

const PARALLELISM = 16;
const LONGEST_WAIT_MS = 1000;

type Cell = { -readonly [K in keyof LocalTask]: LocalTask[K] } & { readonly log: LogLine[] };

/** One local run: performs what `step` decides. */
class Local {
  readonly clock: Clock;
  readonly #dag: Dag;
  readonly #graph: SerialGraph;
  readonly #caller: Caller;
  readonly #options: RunOptions;
  readonly #interval: Interval;
  readonly #context: Omit<BodyContext, "taskId" | "mapIndex" | "try" | "maxTries">;
  readonly #plan: RunPlan;
  #progress: RunProgress;
  /** By name. */
  readonly #cells = new Map<string, Cell>();
  readonly #inbox: RunEvent[] = [{ kind: "opened" }];
  readonly #running = new Map<string, RunningTry>();
  /** Tries that wait for one of `parallelism`. */
  readonly #waiting: Extract<Effect, { kind: "request" }>[] = [];
  /** When each try is to end; what its body waits for, and goes on with. By name. */
  readonly #tryBy = new Map<string, number | null>();
  readonly #deferrals = new Map<string, Deferral>();
  readonly #resumed = new Map<string, NonNullable<BodyContext["resumed"]>>();
  /** What waits were ended with, until it is noted. */
  readonly #kept = new Map<string, unknown>();
  readonly #labels: LocalLabels;
  #waits!: LocalWaits;
  #free: number;
  #wake = (): void => {};

  constructor(dag: Dag, options: RunOptions, caller: Caller) {
    const { graph } = dag;
    this.#caller = caller;
    this.#dag = dag;
    this.#graph = graph;
    this.#options = options;
    this.#free = Math.max(1, options.parallelism ?? PARALLELISM);
    this.clock = clockOf(options.now, graph.zone);
    this.#interval = intervalOf(graph, options, this.clock);
    this.#context = contextOf(graph, this.#interval, options);
    this.#plan = planOf(graph);
    this.#progress = newProgress(this.#plan);
    this.#labels = new LocalLabels(graph, this.#context);
  }

  async run(): Promise<LocalRun> {
    await checkConf(this.#dag, this.#context.conf, this.#caller);
    const { signal, events = {}, otherRuns = {} } = this.#options;
    checkOtherRuns(this.#dag, otherRuns);
    this.#waits = new LocalWaits(this.#waitHost(await checkEvents(this.#dag, events), otherRuns));
    const cancel = () => this.#push({ kind: "end", as: "cancelled", reason: "the local run was cancelled" });
    signal?.addEventListener("abort", cancel, { once: true });
    if (signal?.aborted === true) cancel();
    while (this.#progress.state === "running") {
      const event = this.#inbox.shift();
      if (event === undefined) {
        await new Promise<void>((resolve) => (this.#wake = resolve));
        continue;
      }
      const next = step(this.#plan, this.#progress, event);
      this.#progress = next.progress;
      for (const effect of next.effects) this.#perform(effect);
      this.#grant();
    }
    signal?.removeEventListener("abort", cancel);
    return this.#result(this.#progress.state);
  }

  #push(event: RunEvent): void {
    this.#inbox.push(event);
    this.#wake();
  }

  #perform(effect: Effect): void {
    switch (effect.kind) {
      case "request":
        this.#waiting.push(effect);
        this.#setState(effect, "queued");
        break;
      case "start":
        this.#start(effect, effect.try);
        break;
      case "wait":
        void this.#sleep(effect.delayMs).then(() => this.#push({ ...effect, kind: "due" }));
        break;
      case "defer":
        this.#wait(effect, null);
        break;
      case "stop":
        this.#running.get(this.#nameOf(effect))?.stop("the local run was cancelled");
        break;
      case "record":
        if (effect.state === "removed" && effect.index < 0) this.#cells.delete(this.#nameOf(effect));
        else {
          if (effect.ended !== null) this.#note(effect, effect.ended.outcome);
          this.#setState(effect, effect.state);
          this.#recorded(effect);
        }
        break;
      case "close":
        break;
    }
  }

  /** Higher priority first, then first come. */
  #grant(): void {
    const { tasks } = this.#graph;
    this.#waiting.sort((a, b) => tasks[b.task]!.priorityWeight - tasks[a.task]!.priorityWeight);
    for (; this.#free > 0 && this.#waiting.length > 0; this.#free--) {
      this.#push({ ...this.#waiting.shift()!, kind: "granted", now: this.#now() });
    }
  }

  #start(at: At, number: number): void {
    const { executionTimeoutMs } = this.#graph.tasks[at.task]!;
    const name = this.#nameOf(at);
    const { resume, waitBy = null } = cellAt(this.#progress, at);
    const now = this.#now();
    const whole = executionTimeoutMs === null ? null : now + executionTimeoutMs;
    const tryBy = resume === undefined ? whole : (this.#tryBy.get(name) ?? null);
    this.#tryBy.set(name, tryBy);
    this.#cell(at).tries = number;
    this.#setState(at, "running");
    const limit = limitOf(this.#graph.tasks[at.task]!, { tryBy, waitBy }, now);
    const running = this.#tryOf({ ...at, try: number }, limit, resume && this.#resumed.get(name));
    this.#running.set(name, running);
    void running.outcome.then((outcome) => {
      this.#running.delete(name);
      this.#free += 1;
      if (outcome.kind === "deferred") this.#deferrals.set(name, outcome.deferral);
      else this.#deferrals.delete(name);
      this.#push({ kind: "ended", task: at.task, index: at.index, try: number, outcome });
    });
  }

  #tryOf(at: AtTry, limit: Limit | null, resumed?: BodyContext["resumed"]): RunningTry {
    const { id, retries } = this.#graph.tasks[at.task]!;
    const inputs = inputValues(this.#plan, this.#progress, at, (name) => this.#cells.get(name)?.output);
    if (this.#cell(at).label === null) this.#label(at, inputs);
    const { connection = noConnection, graceMs = GRACE_MS } = this.#options;
    return startTry({
      context: {
        ...this.#context,
        taskId: id,
        mapIndex: at.index,
        try: at.try,
        maxTries: retries + 1,
        waitUrls: waitUrlsOf(this.#graph, this.#context.runId, { taskId: id, mapIndex: at.index }),
        ...(resumed !== undefined && { resumed }),
      },
      body: this.#dag.bodyOf(id) ?? missingBody,
      inputs,
      ...askedOf(this.#plan, at.task),
      limit,
      graceMs,
      connection,
      log: (level, text) => this.#log(at, level, text),
    });
  }

  #label(at: At, inputs: Readonly<Record<string, unknown>> | null): void {
    const label = this.#labels.of(at, inputs, (text) => this.#log(at, "warn", text));
    if (label === null) return;
    this.#cell(at).label = label;
    this.#options.onLabel?.(this.#nameOf(at), label);
  }

  #log(at: At, level: LogLine["level"], text: string): void {
    const line = { at: this.clock(), level, text };
    this.#cell(at).log.push(line);
    this.#options.log?.(this.#nameOf(at), line);
  }

  /** A body that has deferred begins to wait; one that waited, and is done with it, no longer does. */
  #recorded(effect: RecordEffect): void {
    const name = this.#nameOf(effect);
    const deferral = this.#deferrals.get(name);
    this.#deferrals.delete(name);
    if (effect.state !== "deferred") this.#waits.stop(name);
    else if (deferral !== undefined) this.#wait(effect, deferral);
  }

  #wait(at: AtTry, deferral: Deferral | null): void {
    const name = this.#nameOf(at);
    const { waits = 1, waitBy = null } = cellAt(this.#progress, at);
    const tryBy = deferral === null ? null : (this.#tryBy.get(name) ?? null);
    this.#cell(at).tries = at.try;
    if (deferral === null) this.#label(at, null);
    const { task, index, try: number } = at;
    this.#waits.begin({ task, index, try: number, name, wait: waits, tryBy, waitBy }, deferral);
  }

  #waitHost(
    events: Readonly<Record<string, unknown>>,
    otherRuns: Readonly<Record<string, "success" | "failed">>,
  ): WaitHost {
    return {
      graph: this.#graph,
      interval: this.#interval,
      context: this.#context,
      clock: this.clock,
      events,
      otherRuns,
      sleep: async (ms) => await this.#sleep(ms),
      log: (begun, text) => this.#log(begun, "info", text),
      askedOf: (task) => askedOf(this.#plan, task).asked ?? {},
      check: (begun, limit) => this.#tryOf(begun, limit),
      ended: ({ name, wait, task, index, try: number }, end, output) => {
        if (end.kind === "resume") this.#resumed.set(name, output as NonNullable<BodyContext["resumed"]>);
        if (end.kind === "success") this.#kept.set(name, output);
        this.#push({ kind: "woken", task, index, try: number, wait, end });
      },
    };
  }

  #now(): number {
    return Math.floor(this.clock());
  }

  #nameOf({ task, index }: At): string {
    const { id } = this.#graph.tasks[task]!;
    return index < 0 ? id : `${id}[${index}]`;
  }

  #cell(at: At): Cell {
    const name = this.#nameOf(at);
    let cell = this.#cells.get(name);
    if (cell === undefined) this.#cells.set(name, (cell = newCell()));
    return cell;
  }

  #note(at: At, outcome: BodyOutcome | { readonly kind: "lost"; readonly error: BodyError }): void {
    const cell = this.#cell(at);
    cell.error = "error" in outcome ? outcome.error : null;
    cell.message = "message" in outcome && outcome.message !== "" ? outcome.message : null;
    const name = this.#nameOf(at);
    if (outcome.kind === "success")
      cell.output = this.#kept.has(name) ? this.#kept.get(name) : outcome.output;
    this.#kept.delete(name);
    if (cell.error !== null) this.#options.onFailedTry?.(name, cell.tries, cell.error);
  }

  #setState(at: At, state: TaskState): void {
    this.#cell(at).state = state;
    this.#options.onState?.(this.#nameOf(at), state);
  }

  async #sleep(ms: number): Promise<void> {
    if (this.#options.sleep !== undefined) {
      await this.#options.sleep(ms);
      // A sleep of a test may be none: timers are to have their turn all the same.
      return new Promise((resolve) => setImmediate(resolve));
    }
    return new Promise((resolve) => setTimeout(resolve, Math.min(ms, LONGEST_WAIT_MS)));
  }

  /** Of all cells there are at the end, in the order of the graph. */
  #names(): string[] {
    return this.#graph.tasks.flatMap(({ id }, task) => {
      const { count } = this.#progress.tasks[task]!;
      return count === null ? [id] : Array.from({ length: count }, (_, index) => `${id}[${index}]`);
    });
  }

  #result(state: RunState): LocalRun {
    const { startAt, endAt } = this.#interval;
    return {
      dagId: this.#context.dagId,
      runId: this.#context.runId,
      state,
      logicalDate: new Date(startAt),
      dataInterval: { start: new Date(startAt), end: new Date(endAt) },
      tasks: Object.fromEntries(this.#names().map((name) => [name, this.#cells.get(name) ?? newCell()])),
    };
  }
}

const newCell = (): Cell => ({
  state: "none",
  label: null,
  tries: 0,
  output: undefined,
  error: null,
  message: null,
  log: [],
});

function missingBody(): never {
  throw new Terminal("body_not_found", "this task has no body in the code that was loaded");
}
