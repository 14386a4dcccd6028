/** The one door to Temporal and to what changes runs; used by api, cli, schedules and worker. */

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

export interface MeridianClient {
  /** Creates and starts a manual run. Throws NotFound, Refused, or Conflict (details.runId) when the logical date has its run. */
  trigger(request: TriggerRequest): Promise<TriggeredRun>;
  pause(dagId: string, who: string, reason: string | null): Promise<void>;
  /** Also creates at once what is due. */
  unpause(dagId: string, who: string): Promise<void>;
}
