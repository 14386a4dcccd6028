/** Every workflow, signal and query, by name and shape. */
import { defineQuery, defineSignal, defineUpdate } from "@temporalio/workflow";
import type { Carried } from "./carried.ts";
import type { Grant, OpenedAtStart, RunInfo } from "../activities/types.ts";
import type { RunCommand } from "../core/run-command.ts";
import type { Given, TryTask } from "./try-activity.ts";
import type { PackedProgress } from "../core/packed.ts";
import type { CommandAnswer, TryOutcome } from "../core/progress.ts";
import type { RunState } from "../core/states.ts";
import type { WaitEnd } from "../core/waits.ts";

export interface DagRunInput {
  readonly dagId: string;
  readonly runId: string;
  readonly run: number;
  /** Absent: the run opens itself. */
  readonly opened?: OpenedAtStart;
  /** What the execution before this one hands over. */
  readonly carried?: Carried;
}

export type { OpenedAtStart };

export interface DagRunResult {
  readonly state: RunState;
  readonly tasks: Readonly<Record<string, number>>;
}

export type { Grant as GrantMessage };

/** Slots were granted to tries of the run, or (an empty task id) its place to the run itself. Repeats are harmless. */
export const grantsSignal = defineSignal<[readonly Grant[]]>("grants");
/** A wait of a try has ended, its `wait`th. */
export interface WokenMessage extends Grant {
  readonly wait: number;
  readonly end: WaitEnd;
}

/** Repeats are harmless. */
export const wokenSignal = defineSignal<[readonly WokenMessage[]]>("woken");
/** Something is asked of the run; the answer comes once it is sure to happen. A repeat of its id is answered, not redone. */
export const commandUpdate = defineUpdate<CommandAnswer, [RunCommand]>("command");
/** Where the run stands. */
export const progressQuery = defineQuery<PackedProgress | null>("progress");

/** Tries that a part of a run is to run; all have their slots. */
export interface PartTries {
  /** By position. */
  readonly tasks: Readonly<Record<number, TryTask>>;
  readonly tries: readonly (readonly [task: number, index: number, number: number, given: Given])[];
}

export interface PartInput extends PartTries {
  /** Of the run. */
  readonly workflowId: string;
  readonly part: number;
  readonly info: RunInfo;
}

/** `granted`: tasks that were asked for with the try's record and have their slots. */
export type PartEnd = readonly [
  task: number,
  index: number,
  number: number,
  outcome: TryOutcome,
  granted: readonly string[],
  /** Behind which wait it had gone on. */
  wait: number,
];

/** What a run is told of one of its parts: tries that have ended, or why it is no more. Repeats are harmless. */
export interface PartWord {
  readonly part: number;
  readonly ends: readonly PartEnd[];
  /** Of the DAG, by which the part counts positions; left out: the run's. */
  readonly version?: number;
  readonly gone?: string;
}

export const partSignal = defineSignal<[PartWord]>("part");
/** More tries for a part. */
export const triesSignal = defineSignal<[PartTries]>("tries");
/** A try of a part is to stop. */
export const stopSignal = defineSignal<[task: number, index: number, number: number]>("stop");

export interface ClockInput {
  readonly shard: number;
  readonly shards: number;
}
