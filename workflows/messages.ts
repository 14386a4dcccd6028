/** Every workflow, signal and query, by name and shape. */
import { defineQuery, defineSignal, defineUpdate } from "@temporalio/workflow";
import type { OpenedAtStart } from "../activities/types.ts";
import type { RunCommand } from "../core/run-command.ts";
import type { CommandAnswer, RunProgress } from "../core/progress.ts";
import type { RunState } from "../core/states.ts";
import type { WaitEnd } from "../core/waits.ts";

export interface DagRunInput {
  readonly dagId: string;
  readonly runId: string;
  readonly run: number;
  /** Absent: the run opens itself. */
  readonly opened?: OpenedAtStart;
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
/** A wait of a try has ended, its `wait`th. */
export interface WokenMessage extends GrantMessage {
  readonly wait: number;
  readonly end: WaitEnd;
}

/** Repeats are harmless. */
export const wokenSignal = defineSignal<[readonly WokenMessage[]]>("woken");
/** Something is asked of the run; the answer comes once it is sure to happen. A repeat of its id is answered, not redone. */
export const commandUpdate = defineUpdate<CommandAnswer, [RunCommand]>("command");
/** Where the run stands. */
export const progressQuery = defineQuery<RunProgress | null>("progress");

export interface ClockInput {
  readonly shard: number;
  readonly shards: number;
}
