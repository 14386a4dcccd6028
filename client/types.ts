/** The one door to Temporal and to what changes runs; used by api, cli, schedules and worker. */

import type { CommandAnswer } from "../core/progress.ts";
import type { RunCommand } from "../core/run-command.ts";
import type { WaitPlace } from "../platform/wait-address.ts";

export interface TriggerRequest {
  readonly dagId: string;
  /** Epoch ms, or null for now (P13). */
  readonly logicalAt: number | null;
  readonly conf: Readonly<Record<string, unknown>>;
  readonly who: string;
  /**
   * One key makes one run: who comes again with it, because the first answer was lost, is told of that run. `at`, epoch
   * ms, is the key's "now", the same each time.
   */
  readonly once?: { readonly key: string; readonly at: number } | undefined;
}

export interface TriggeredRun {
  readonly dagId: string;
  readonly run: number;
  readonly runId: string;
  /** `queued` when the DAG's active runs are at their maximum, or Temporal does not answer. */
  readonly state: "queued" | "running";
  readonly workflowId: string;
}

export interface CommandRequest {
  readonly dagId: string;
  readonly runId: string;
  readonly command: RunCommand;
  readonly who: string;
}

/** A task of a run. */
export interface TaskName {
  readonly dagId: string;
  readonly runId: string;
  readonly taskId: string;
  /** -1: it is not mapped. */
  readonly mapIndex: number;
}

export interface WaitNumber {
  readonly try: number;
  /** Number of the wait within its try, from 1. */
  readonly wait: number;
}

export interface EndWaitRequest {
  /** By name: the one that waits, or will wait next. By its address: that one alone. */
  readonly at: TaskName | WaitPlace;
  /** JSON; undefined is null. */
  readonly payload: unknown;
  readonly who: string;
}

export interface EndedWait extends TaskName, WaitNumber {}
export interface CheckedWait extends TaskName, WaitNumber {}

export interface MeridianClient {
  /**
   * Creates and starts a manual run. Throws NotFound, Refused, Conflict (details.runId) when the logical date has its run, or
   * Limited (details.retryAfterMs) when a rate or a bound of the limits file stands against it.
   */
  trigger(request: TriggerRequest): Promise<TriggeredRun>;
  pause(dagId: string, who: string, reason: string | null): Promise<void>;
  /**
   * Clears or marks tasks of a run, or ends it; accepted means it happens. Throws NotFound (no such run or task), Refused or
   * Conflict, with what stands against it. A repeat of the command's id is answered, not redone.
   */
  command(request: CommandRequest): Promise<CommandAnswer>;
  /**
   * Ends a wait, also ahead of its beginning; one alone of any number of callers does. Throws Conflict `already_ended` or
   * `too_late`, Refused `bad_payload` (details.errors), or what else stands against it.
   */
  endWait(request: EndWaitRequest): Promise<EndedWait>;
  /** A sensor, or a wait for another run, is checked at once. */
  checkWait(request: TaskName & { readonly who: string }): Promise<CheckedWait>;
  /** Also creates at once what is due. */
  unpause(dagId: string, who: string): Promise<void>;
}
