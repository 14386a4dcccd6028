/** A whole run of a DAG in this process, without any server: the same rules as the real one, no pools. */
import type { BodyContext, BodyError, BodyOutcome, LogLine } from "../core/body.ts";
import type { Interval } from "../core/calendar/plan.ts";
import { Terminal } from "../core/errors.ts";
import type { SerialGraph } from "../core/graph.ts";
import { newProgress, planOf, step } from "../core/run.ts";
import type { Effect, RunEvent } from "../core/run.ts";
import type { RunState, TaskState } from "../core/states.ts";
import { clockOf, withClock, type Clock } from "./local-clock.ts";
import {
  callerOf,
  checkConf,
  contextOf,
  GRACE_MS,
  intervalOf,
  noConnection,
  type Caller,
  type LocalOptions,
} from "./local-context.ts";
import { startTry } from "./local-try.ts";
import type { RunningTry } from "./local-try.ts";
import type { Dag } from "./registry.ts";

export interface RunOptions extends LocalOptions {
  /** Hears of each change of a task's state. */
  readonly onState?: ((taskId: string, state: TaskState) => void) | undefined;
  /** Hears why a try failed, as it does. */
  readonly onFailedTry?: ((taskId: string, number: number, error: BodyError) => void) | undefined;
  /** Waits before a retry. Default: the retry's delay, but at most a second. */
  readonly sleep?: ((ms: number) => Promise<void>) | undefined;
  /** Bodies at once. Default 16. */
  readonly parallelism?: number | undefined;
}

export interface LocalTask {
  readonly state: TaskState;
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
  readonly #context: Omit<BodyContext, "taskId" | "try" | "maxTries">;
  readonly #cells: readonly Cell[];
  readonly #inbox: RunEvent[] = [{ kind: "opened" }];
  readonly #running = new Map<number, RunningTry>();
  /** Tries that wait for one of `parallelism`. */
  readonly #waiting: { readonly task: number; readonly try: number }[] = [];
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
    this.#cells = graph.tasks.map(() => ({
      state: "none",
      tries: 0,
      output: undefined,
      error: null,
      message: null,
      log: [],
    }));
  }

  async run(): Promise<LocalRun> {
    await checkConf(this.#dag, this.#context.conf, this.#caller);
    const plan = planOf(this.#graph);
    let progress = newProgress(plan);
    const { signal } = this.#options;
    const cancel = () => this.#push({ kind: "cancel", reason: "the local run was cancelled" });
    signal?.addEventListener("abort", cancel, { once: true });
    if (signal?.aborted === true) cancel();
    while (progress.state === "running") {
      const event = this.#inbox.shift();
      if (event === undefined) {
        await new Promise<void>((resolve) => (this.#wake = resolve));
        continue;
      }
      const next = step(plan, progress, event);
      progress = next.progress;
      for (const effect of next.effects) this.#perform(effect);
      this.#grant();
    }
    signal?.removeEventListener("abort", cancel);
    return this.#result(progress.state);
  }

  #push(event: RunEvent): void {
    this.#inbox.push(event);
    this.#wake();
  }

  #perform(effect: Effect): void {
    switch (effect.kind) {
      case "request":
        this.#waiting.push({ task: effect.task, try: effect.try });
        this.#setState(effect.task, "queued");
        break;
      case "start":
        this.#start(effect.task, effect.try);
        break;
      case "wait":
        void this.#sleep(effect.delayMs).then(() =>
          this.#push({ kind: "due", task: effect.task, try: effect.try }),
        );
        break;
      case "stop":
        this.#running.get(effect.task)?.stop("the local run was cancelled");
        break;
      case "record":
        if (effect.ended !== null) this.#note(effect.task, effect.ended.outcome);
        this.#setState(effect.task, effect.state);
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
      this.#push({ kind: "granted", ...this.#waiting.shift()! });
    }
  }

  #start(task: number, number: number): void {
    const { id, inputs, retries, executionTimeoutMs } = this.#graph.tasks[task]!;
    const cell = this.#cells[task]!;
    const { log, connection = noConnection, graceMs = GRACE_MS } = this.#options;
    cell.tries = number;
    this.#setState(task, "running");
    const running = startTry({
      context: { ...this.#context, taskId: id, try: number, maxTries: retries + 1 },
      body: this.#dag.bodyOf(id) ?? missingBody,
      inputs: this.#inputsOf(inputs),
      timeoutMs: executionTimeoutMs,
      graceMs,
      connection,
      log: (level, text) => {
        const line = { at: this.clock(), level, text };
        cell.log.push(line);
        log?.(id, line);
      },
    });
    this.#running.set(task, running);
    void running.outcome.then((outcome) => {
      this.#running.delete(task);
      this.#free += 1;
      this.#push({ kind: "ended", task, try: number, outcome });
    });
  }

  /** Each consumer gets a copy of its own; an upstream without an output gives no key. */
  #inputsOf(inputs: Readonly<Record<string, number>>): Record<string, unknown> {
    const given = Object.entries(inputs).filter(([, up]) => this.#cells[up]!.output !== undefined);
    return Object.fromEntries(given.map(([name, up]) => [name, structuredClone(this.#cells[up]!.output)]));
  }

  #note(task: number, outcome: BodyOutcome | { readonly kind: "lost"; readonly error: BodyError }): void {
    const cell = this.#cells[task]!;
    cell.error = "error" in outcome ? outcome.error : null;
    cell.message = "message" in outcome && outcome.message !== "" ? outcome.message : null;
    if (outcome.kind === "success") cell.output = outcome.output;
    if (cell.error !== null) this.#options.onFailedTry?.(this.#graph.tasks[task]!.id, cell.tries, cell.error);
  }

  #setState(task: number, state: TaskState): void {
    this.#cells[task]!.state = state;
    this.#options.onState?.(this.#graph.tasks[task]!.id, state);
  }

  async #sleep(ms: number): Promise<void> {
    if (this.#options.sleep !== undefined) return this.#options.sleep(ms);
    return new Promise((resolve) => setTimeout(resolve, Math.min(ms, LONGEST_WAIT_MS)));
  }

  #result(state: RunState): LocalRun {
    const { startAt, endAt } = this.#interval;
    return {
      dagId: this.#context.dagId,
      runId: this.#context.runId,
      state,
      logicalDate: new Date(startAt),
      dataInterval: { start: new Date(startAt), end: new Date(endAt) },
      tasks: Object.fromEntries(this.#graph.tasks.map(({ id }, task) => [id, this.#cells[task]!])),
    };
  }
}

function missingBody(): never {
  throw new Terminal("body_not_found", "this task has no body in the code that was loaded");
}
