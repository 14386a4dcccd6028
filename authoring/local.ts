/** A whole run of a DAG in this process, without any server: the same rules as the real one, no pools. */
import type { BodyContext, BodyError, BodyOutcome, LogLine } from "../core/body.ts";
import type { Interval } from "../core/calendar/plan.ts";
import { Terminal } from "../core/errors.ts";
import type { SerialGraph } from "../core/graph.ts";
import { inputsOf, type InputRef } from "../core/inputs.ts";
import { picked } from "../core/mapping.ts";
import { askedOf, planOf, type RunPlan } from "../core/plan.ts";
import { newProgress } from "../core/progress.ts";
import { step } from "../core/run.ts";
import type { At, Effect, RunEvent, RunProgress } from "../core/progress.ts";
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
  /** Hears of each change of a task's state; of an instance by its name: `load[2]`. */
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
  }

  async run(): Promise<LocalRun> {
    await checkConf(this.#dag, this.#context.conf, this.#caller);
    const { signal } = this.#options;
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
      case "stop":
        this.#running.get(this.#nameOf(effect))?.stop("the local run was cancelled");
        break;
      case "record":
        if (effect.state === "removed" && effect.index < 0) this.#cells.delete(this.#nameOf(effect));
        else {
          if (effect.ended !== null) this.#note(effect, effect.ended.outcome);
          this.#setState(effect, effect.state);
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
      this.#push({ ...this.#waiting.shift()!, kind: "granted" });
    }
  }

  #start(at: At, number: number): void {
    const { id, retries, executionTimeoutMs } = this.#graph.tasks[at.task]!;
    const name = this.#nameOf(at);
    const cell = this.#cell(at);
    const { log, connection = noConnection, graceMs = GRACE_MS } = this.#options;
    cell.tries = number;
    this.#setState(at, "running");
    const running = startTry({
      context: { ...this.#context, taskId: id, mapIndex: at.index, try: number, maxTries: retries + 1 },
      body: this.#dag.bodyOf(id) ?? missingBody,
      inputs: this.#inputsOf(at),
      ...askedOf(this.#plan, at.task),
      timeoutMs: executionTimeoutMs,
      graceMs,
      connection,
      log: (level, text) => {
        const line = { at: this.clock(), level, text };
        cell.log.push(line);
        log?.(name, line);
      },
    });
    this.#running.set(name, running);
    void running.outcome.then((outcome) => {
      this.#running.delete(name);
      this.#free += 1;
      this.#push({ kind: "ended", task: at.task, index: at.index, try: number, outcome });
    });
  }

  /** Each consumer gets a copy of its own; an upstream without an output gives no key. */
  #inputsOf({ task, index }: At): Record<string, unknown> {
    const given = Object.entries(inputsOf(this.#plan, this.#progress, task, index)).map(
      ([name, ref]) => [name, this.#valueOf(ref)] as const,
    );
    return structuredClone(Object.fromEntries(given.filter(([, value]) => value !== undefined)));
  }

  #valueOf(ref: InputRef): unknown {
    if (typeof ref === "string") return this.#cells.get(ref)?.output;
    if ("value" in ref) return ref.value;
    if (ref.index !== undefined) return this.#cells.get(`${ref.task}[${ref.index}]`)?.output;
    const list = ref.all === true ? this.#outputsOf(ref.task) : this.#cells.get(ref.task)?.output;
    return picked(list, ref.pick);
  }

  /** Of the instances that succeeded; null where one was marked so without an output. */
  #outputsOf(taskId: string): unknown[] {
    const { instances, count } = this.#progress.tasks[this.#plan.positions.get(taskId)!]!;
    return (instances ?? [])
      .slice(0, count ?? 0)
      .flatMap(({ state }, index) =>
        state === "success" ? [this.#cells.get(`${taskId}[${index}]`)?.output ?? null] : [],
      );
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
    if (outcome.kind === "success") cell.output = outcome.output;
    if (cell.error !== null) this.#options.onFailedTry?.(this.#nameOf(at), cell.tries, cell.error);
  }

  #setState(at: At, state: TaskState): void {
    this.#cell(at).state = state;
    this.#options.onState?.(this.#nameOf(at), state);
  }

  async #sleep(ms: number): Promise<void> {
    if (this.#options.sleep !== undefined) return this.#options.sleep(ms);
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
  tries: 0,
  output: undefined,
  error: null,
  message: null,
  log: [],
});

function missingBody(): never {
  throw new Terminal("body_not_found", "this task has no body in the code that was loaded");
}
