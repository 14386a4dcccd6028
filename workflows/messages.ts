/** Every workflow, signal and query, by name and shape. */
import { defineQuery, defineSignal, defineUpdate } from "@temporalio/workflow";
import type { Carried } from "./carried.ts";
import type { OpenedAtStart } from "../activities/types.ts";
import type { RunCommand } from "../core/run-command.ts";
import type { PackedProgress } from "../core/packed.ts";
import type { CommandAnswer } from "../core/progress.ts";
import type { RunState } from "../core/states.ts";

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

export interface GrantMessage {
  readonly taskId: string;
  readonly mapIndex: number;
  readonly try: number;
}

/** Slots were granted to tries of the run, or (an empty task id) its place to the run itself. Repeats are harmless. */
export const grantsSignal = defineSignal<[readonly GrantMessage[]]>("grants");
/** Something is asked of the run; the answer comes once it is sure to happen. A repeat of its id is answered, not redone. */
export const commandUpdate = defineUpdate<CommandAnswer, [RunCommand]>("command");
/** Where the run stands. */
export const progressQuery = defineQuery<PackedProgress | null>("progress");

export interface ClockInput {
  readonly shard: number;
  readonly shards: number;
}
