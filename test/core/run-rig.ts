/** A run under test: feeds events to the rules and keeps what they say. */
import { planOf, runTaskOf, type RunGraph, type RunPlan, type RunTask } from "../../core/plan.ts";
import type { RunCell } from "../../core/cells.ts";
import {
  newProgress,
  reopened,
  type At,
  type Effect,
  type RunEvent,
  type RunProgress,
  type TryOutcome,
} from "../../core/progress.ts";
import { remap, type Remapped } from "../../core/remap.ts";
import { step } from "../../core/run.ts";
import type { TaskState } from "../../core/states.ts";
import type { WaitEnd } from "../../core/waits.ts";
import { serialTask } from "../support/serial.ts";

export const success: Extract<TryOutcome, { kind: "success" }> = { kind: "success", output: null };

export const task = (id: string, upstream: number[] = [], more: Partial<RunTask> = {}): RunTask =>
  runTaskOf({ ...serialTask(id, upstream, { retryDelayMs: 1000, retryFactor: 2 }), ...more });

/** `load[2]`, or `load`. */
type Name = string;

export class Rig {
  plan: RunPlan;
  progress: RunProgress;
  effects: Effect[] = [];

  constructor(graph: RunGraph) {
    this.plan = planOf(graph);
    this.progress = newProgress(this.plan);
    this.send({ kind: "opened" });
  }

  send(event: RunEvent): readonly Effect[] {
    const next = step(this.plan, this.progress, event);
    this.progress = next.progress;
    this.effects.push(...next.effects);
    return next.effects;
  }

  /** Grants and ends the latest try of a cell. */
  run(at: number | Name, outcome: TryOutcome = success): readonly Effect[] {
    const cell = this.at(at);
    const number = this.cell(at).try;
    const granted = this.send({ kind: "granted", ...cell, try: number });
    return [...granted, ...this.send({ kind: "ended", ...cell, try: number, outcome })];
  }

  /** Ends the wait that a cell is at. */
  wake(name: Name, end: WaitEnd): readonly Effect[] {
    const { try: number, waits = 0 } = this.cell(name);
    return this.send({ kind: "woken", ...this.at(name), try: number, wait: waits, end });
  }

  /** Runs whatever can run, all with success, in the order it is asked for. */
  drain(outcomeOf: (name: Name, number: number) => TryOutcome = () => success): void {
    for (let found = true; found && this.progress.state === "running";) {
      found = false;
      for (const name of this.names()) {
        const { state } = this.cell(name);
        const number = this.cell(name).try;
        if (state === "queued" || state === "running") {
          const at = this.at(name);
          this.send({ kind: "granted", ...at, try: number });
          this.send({ kind: "ended", ...at, try: number, outcome: outcomeOf(name, number) });
          found = true;
        } else if (state === "up_for_retry") {
          this.send({ kind: "due", ...this.at(name), try: number });
          found = true;
        }
      }
    }
  }

  at(name: number | Name): At {
    if (typeof name === "number") return { task: name, index: -1 };
    const [, id, index] = /^([^[]+)(?:\[(\d+)\])?$/.exec(name)!;
    return { task: this.plan.positions.get(id!)!, index: index === undefined ? -1 : Number(index) };
  }

  cell(name: number | Name): RunCell {
    const { task, index } = this.at(name);
    const row = this.progress.tasks[task]!;
    return index < 0 ? row.own : row.instances![index]!;
  }

  /** Names of all cells there are now. */
  names(): Name[] {
    return this.plan.tasks.flatMap(({ id }, position) => {
      const { count } = this.progress.tasks[position]!;
      return count === null ? [id] : Array.from({ length: count }, (_, i) => `${id}[${i}]`);
    });
  }

  states(): TaskState[] {
    return this.names().map((name) => this.cell(name).state);
  }

  stateOf(...names: Name[]): TaskState[] {
    return names.map((name) => this.cell(name).state);
  }

  clear(...names: Name[]): readonly Effect[] {
    if (this.progress.state !== "running") this.progress = reopened(this.progress);
    return this.send({ kind: "clear", cells: names.map((name) => this.at(name)) });
  }

  /** It is over, and goes on with another version. */
  moveTo(graph: RunGraph): Omit<Remapped, "progress"> {
    const plan = planOf(graph);
    const { progress, ...changes } = remap(this.plan, plan, this.progress);
    [this.plan, this.progress] = [plan, progress];
    return changes;
  }

  mark(as: "success" | "failed" | "skipped", ...names: Name[]): readonly Effect[] {
    if (this.progress.state !== "running") this.progress = reopened(this.progress);
    return this.send({ kind: "mark", as, cells: names.map((name) => this.at(name)) });
  }
}
