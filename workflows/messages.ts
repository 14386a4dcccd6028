/** Every workflow, signal and query, by name and shape. */
import { defineQuery, defineSignal } from "@temporalio/workflow";
import type { OpenedAtStart } from "../activities/types.ts";
import type { RunProgress } from "../core/progress.ts";
import type { RunState } from "../core/states.ts";

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

/** Slots were granted to tries of the run. Repeats are harmless. */
export const grantsSignal = defineSignal<[readonly GrantMessage[]]>("grants");
/** Where the run stands. */
export const progressQuery = defineQuery<RunProgress | null>("progress");

export interface ClockInput {
  readonly shard: number;
  readonly shards: number;
}
