/** One step of a run in the making: what changes, and what is to be done. */
import type { BodyError } from "./body.ts";
import { Cells, type RunCell } from "./cells.ts";
import type { Measured } from "./mapping.ts";
import { mapOut, runAsWhole } from "./map-out.ts";
import type { RunPlan } from "./plan.ts";
import {
  ELSEWHERE,
  type At,
  type AtTry,
  type Effect,
  type Ending,
  type RecordEffect,
  type RunProgress,
  type TryOutcome,
} from "./progress.ts";
import { afterFailure, fraction } from "./retry.ts";
import { decide, type RuleAnswer } from "./rules.ts";
import { TASK_DONE, type RunState, type TaskState } from "./states.ts";
import { isBodyless } from "./waits.ts";
import { abandonedOf } from "./waking.ts";

export class Draft {
  readonly plan: RunPlan;
  readonly cells: Cells;
  readonly effects: Effect[] = [];
  ending: Ending | null;
  /** Cells not done yet. */
  open: number;
  measured: Readonly<Record<number, Measured>>;
  #seq: number;
  reruns: number;
  resting: boolean;
  readonly #given: RunProgress;
  readonly #touched: At[] = [];

  constructor(plan: RunPlan, progress: RunProgress) {
    this.plan = plan;
    this.cells = new Cells(progress.tasks);
    this.ending = progress.ending;
    this.#seq = progress.seq;
    this.open = progress.open;
    this.measured = progress.measured;
    this.reruns = progress.reruns;
    this.resting = progress.resting;
    this.#given = progress;
  }

  cell({ task, index }: At): RunCell {
    return this.cells.get(task, index);
  }

  isAt({ task, index, try: number }: AtTry, state: TaskState): boolean {
    const cell = this.cells.find(task, index);
    return cell !== undefined && cell.try === number && cell.state === state;
  }

  isTeardown(task: number): boolean {
    return this.plan.tasks[task]!.teardown !== undefined;
  }

  /** Whether the cell's work is being ended with the run's. */
  isEnding({ task }: At): boolean {
    return this.ending !== null && !this.isTeardown(task);
  }

  /** What stopped work of a run that is being ended becomes. */
  get endState(): TaskState {
    return this.ending?.as === "failed" ? "failed" : "cancelled";
  }

  /** Applies the trigger rule to a cell that has not begun. */
  evaluate(at: At): void {
    const cell = this.cell(at);
    if (cell.state !== "none" || cell.held === true || this.isEnding(at)) return;
    const isMapped = this.plan.tasks[at.task]!.map !== undefined;
    const answer = this.#isCut(at) ? "skip" : this.#answer(at);
    if (answer === "skip") this.settle(at, "skipped", null);
    else if (answer === "fail") this.settle(at, "upstream_failed", null);
    else if (answer === "run" && isMapped && at.index < 0) runAsWhole(this, at);
    else if (answer === "run") this.request(at);
  }

  evaluateTask(task: number): void {
    for (const index of this.cells.indexes(task)) this.evaluate({ task, index });
  }

  evaluateTeardowns(): void {
    this.plan.tasks.forEach((_, task) => {
      if (this.isTeardown(task)) this.evaluateTask(task);
    });
  }

  #answer({ task, index }: At): RuleAnswer {
    const { upstream, triggerRule, teardown } = this.plan.tasks[task]!;
    if (teardown === undefined) return decide(triggerRule, this.#counts(upstream, task, index));
    if (decide("all_done", this.#counts(upstream, task, index)) === "wait") return "wait";
    if (teardown.length === 0) return "run";
    const setups = this.#counts(teardown, task, index);
    if (setups.success > 0) return "run";
    // In a run that is ended by hand nothing is left to take away, and nothing went wrong (K29).
    return setups.skipped === setups.total || this.ending !== null ? "skip" : "fail";
  }

  #counts(upstream: readonly number[], task: number, index: number) {
    const counts = { total: 0, success: 0, failed: 0, upstreamFailed: 0, skipped: 0 };
    for (const up of upstream) this.cells.addTo(counts, up, this.#indexFor(task, index, up));
    return counts;
  }

  /** The instance of `other` that goes with instance `index` of `task`: the same of the same map, else all (-1). */
  #indexFor(task: number, index: number, other: number): number {
    const { map } = this.plan.tasks[task]!;
    return map !== undefined && map === this.plan.tasks[other]!.map ? index : -1;
  }

  /** Whether a branch chose otherwise, or a short circuit cut it off (K27, K28, K30). */
  #isCut({ task, index }: At): boolean {
    // A branch before a teardown does not choose it: what its setups prepared is to be taken away whichever way was taken.
    if (this.isTeardown(task)) return false;
    const { tasks, circuits } = this.plan;
    for (const up of tasks[task]!.upstream) {
      if (tasks[up]!.decides !== "branch") continue;
      const follow = this.#decision(up, task, index);
      if (follow === null || follow.includes(task)) continue;
      if (!follow.some((one) => one !== ELSEWHERE && this.plan.reaches(one, task))) return true;
    }
    for (const circuit of circuits.get(task) ?? []) {
      if (this.#decision(circuit, task, index)?.length === 0) return true;
    }
    return false;
  }

  /** What a task that decides chose for this cell; null: nothing, or it speaks for one instance of a map around it. */
  #decision(decider: number, task: number, index: number): readonly number[] | null {
    const own = this.#indexFor(task, index, decider);
    if (own < 0 && this.cells.task(decider).count !== null) return null;
    const cell = this.cells.find(decider, own);
    return cell?.state === "success" ? (cell.follow ?? null) : null;
  }

  /** The next try; or the same one goes on after a wait. */
  request(at: At): void {
    const cell = this.cell(at);
    const { concurrency, wait } = this.plan.tasks[at.task]!;
    if (isBodyless(wait)) {
      this.#wait(at);
      return;
    }
    const { tally } = this.cells.task(at.task);
    if (concurrency !== undefined && tally !== null && tally.active >= concurrency) {
      this.cells.set(at.task, at.index, { ...cell, held: true });
      return;
    }
    const { held: _, waits, resume, ...free } = cell;
    const goesOn = cell.state === "deferred" && waits !== undefined && resume !== undefined;
    const number = goesOn ? cell.try : cell.try + 1;
    this.cells.set(at.task, at.index, {
      ...free,
      ...(goesOn && { waits, resume }),
      state: "queued",
      try: number,
    });
    this.effects.push({ kind: "request", task: at.task, index: at.index, try: number });
  }

  /** A task without a body waits at once, without a slot. */
  #wait(at: At): void {
    const { resume: _, ...cell } = this.cell(at);
    const number = cell.try + 1;
    this.cells.set(at.task, at.index, { ...cell, state: "deferred", try: number, waits: 1 });
    this.record(at, "deferred", null);
    this.effects.push({ kind: "defer", task: at.task, index: at.index, try: number });
  }

  /** Its slots are there. A sensor's time-out counts from the first time (P6). */
  begin(at: At, now: number | undefined): void {
    const cell = this.cell(at);
    const timeoutMs = this.plan.tasks[at.task]!.wait?.timeoutMs;
    const counts = typeof timeoutMs === "number" && cell.waitBy === undefined && now !== undefined;
    this.cells.set(at.task, at.index, {
      ...cell,
      state: "running",
      ...(counts && { waitBy: now + timeoutMs }),
    });
  }

  /** The next of a task whose instances wait for each other. */
  release(task: number): void {
    const { tally, instances, count } = this.cells.task(task);
    if (tally === null || tally.held === 0 || instances === null || count === null) return;
    for (let index = 0; index < count; index++) {
      if (this.cells.get(task, index).held !== true) continue;
      this.request({ task, index });
      return;
    }
  }

  succeeded(at: At, outcome: Extract<TryOutcome, { kind: "success" }>): void {
    this.keep(at, outcome);
    this.settle(at, "success", { state: "success", outcome });
  }

  /** What others need to know of an output. */
  keep(at: At, { follow, measured }: Extract<TryOutcome, { kind: "success" }>): void {
    if (measured !== undefined && at.index < 0) this.measured = { ...this.measured, [at.task]: measured };
    if (follow !== undefined) {
      const positions = follow.map((id) => this.plan.positions.get(id) ?? ELSEWHERE);
      this.cells.set(at.task, at.index, { ...this.cell(at), follow: positions });
    }
  }

  /** The cell is done: record it and look at what waited for it. */
  settle(at: At, state: TaskState, ended: RecordEffect["ended"]): void {
    const {
      held: _,
      afterStop: __,
      waitBy: _by,
      waits: _waits,
      resume: _resume,
      resumeOf: _of,
      ...cell
    } = this.cell(at);
    this.cells.set(at.task, at.index, { ...cell, state });
    this.open -= 1;
    this.record(at, state, ended);
    this.#touched.push(at);
  }

  /** A work list, not recursion: a chain of thousands that is skipped must not exhaust the stack. */
  #propagate(): void {
    const { downstream, feeds } = this.plan;
    for (let at = this.#touched.pop(); at !== undefined; at = this.#touched.pop()) {
      if (at.index >= 0) this.release(at.task);
      for (const down of downstream[at.task]!) this.#evaluateAfter(at, down);
      if (feeds.size > 0 && this.cells.isDone(at.task)) {
        for (const map of feeds.get(at.task) ?? []) mapOut(this, map);
      }
    }
  }

  #evaluateAfter(at: At, down: number): void {
    const sameIndex = this.#indexFor(down, at.index, at.task);
    if (sameIndex < 0 || at.index < 0 || this.cells.task(down).count === null) this.evaluateTask(down);
    else this.evaluate({ task: down, index: at.index });
  }

  failed(at: At, state: "failed" | "timed_out" | "lost", outcome: TryOutcome, error: BodyError): void {
    const { waits: _, resume: __, resumeOf: ___, ...cell } = this.cell(at);
    const policy = this.plan.tasks[at.task]!;
    const next = afterFailure(policy, cell.retries, error, fraction(`${policy.id} ${at.index} ${cell.try}`));
    if (this.isEnding(at) || next.kind === "fail") {
      this.settle(at, "failed", { state, outcome });
      return;
    }
    this.cells.set(at.task, at.index, { ...cell, state: "up_for_retry", retries: next.retries, lost: 0 });
    this.record(at, "up_for_retry", { state, outcome });
    this.effects.push({ kind: "wait", task: at.task, index: at.index, try: cell.try, delayMs: next.delayMs });
    if (at.index >= 0) this.release(at.task);
  }

  /** Another try at once, through no fault of the task. */
  again(at: At, ended: NonNullable<RecordEffect["ended"]>, change: { lost?: number }): void {
    if (this.isEnding(at)) {
      this.settle(at, this.endState, ended);
      return;
    }
    const { waits, resume, ...cell } = this.cell(at);
    // What was waited for has come: nobody would send it again.
    const isResumed = waits !== undefined && resume !== undefined;
    const resumeOf = isResumed ? { resumeOf: { try: cell.try, wait: waits } } : {};
    this.cells.set(at.task, at.index, { ...cell, state: "up_for_retry", ...resumeOf, ...change });
    this.record(at, "up_for_retry", ended);
    this.request(at);
  }

  /** The run is being ended: work under way is stopped, the rest never begins. */
  endNow(at: At): void {
    const cell = this.cell(at);
    if (TASK_DONE[cell.state]) return;
    if (cell.state === "running") this.stop(at, cell);
    else this.settle(at, "cancelled", abandonedOf(cell, "the run was ended"));
  }

  stop(at: At, { try: number }: RunCell): void {
    this.effects.push({ kind: "stop", task: at.task, index: at.index, try: number });
  }

  finish(): { progress: RunProgress; effects: readonly Effect[] } {
    this.#propagate();
    const state = this.#state();
    if (state !== "running") this.effects.push({ kind: "close", state });
    return {
      progress: {
        ...this.#given,
        seq: this.#seq,
        state,
        tasks: this.cells.all,
        open: this.open,
        ending: this.ending,
        measured: this.measured,
        reruns: this.reruns,
        resting: this.resting,
      },
      effects: this.effects,
    };
  }

  /** A run that has failed rests and begins again, as long as it may. */
  #state(): RunState {
    if (this.open > 0) {
      this.resting = false;
      return "running";
    }
    const state = this.#finalState();
    const { retries, retryDelayMs } = this.plan.run;
    if (state !== "failed" || this.ending !== null || (!this.resting && this.reruns >= retries)) {
      this.resting = false;
      return state;
    }
    if (!this.resting) {
      this.resting = true;
      this.reruns += 1;
      this.effects.push({ kind: "rest", delayMs: retryDelayMs, rerun: this.reruns });
    }
    return "running";
  }

  record(at: At, state: TaskState, ended: RecordEffect["ended"]): void {
    this.#seq += 1;
    this.effects.push({
      kind: "record",
      seq: this.#seq,
      task: at.task,
      index: at.index,
      try: this.cell(at).try,
      state,
      ended,
    });
  }

  /** As in Airflow, the leaves decide: a run fails when a leaf failed or could not run. Teardowns are no leaves. */
  #finalState(): RunState {
    if (this.ending !== null) return this.ending.as;
    const { downstream } = this.plan;
    const failed = this.plan.tasks.some((_, task) => {
      if (this.isTeardown(task) || !downstream[task]!.every((down) => this.isTeardown(down))) return false;
      const { own, tally } = this.cells.task(task);
      return tally === null
        ? own.state === "failed" || own.state === "upstream_failed" || own.state === "cancelled"
        : tally.failed + tally.upstreamFailed > 0;
    });
    return failed ? "failed" : "success";
  }
}
