import type { BodyContext } from "../core/body.ts";
import type { AskedOfOutput } from "../core/decision.ts";
import type { InputRef } from "../core/inputs.ts";
import type { PackedProgress } from "../core/packed.ts";
import type { RunGraph } from "../core/plan.ts";
import type { RunProgress, TryOutcome } from "../core/progress.ts";
import type { RunState, TaskState, TryState } from "../core/states.ts";

/** What workflows know of the activities: types only. Task ids and instants are text. */
export interface Grant {
  readonly taskId: string;
  readonly mapIndex: number;
  readonly try: number;
  /** The try goes on behind that wait; left out: it begins. */
  readonly wait?: number;
}

/** A decision to be written down (core/run.ts RecordEffect). */
export interface Decision {
  readonly seq: number;
  readonly taskId: string;
  readonly mapIndex: number;
  readonly try: number;
  readonly state: TaskState;
  readonly ended: { readonly state: TryState; readonly outcome: TryOutcome } | null;
  /** Its task is no more: the cell stays, as removed. */
  readonly gone?: true;
}

export interface SlotRequest extends Grant {
  readonly pool: string;
  readonly slots: number;
  readonly priority: number;
}

/** What is the same for all tries of a run. */
export type RunInfo = Omit<BodyContext, "taskId" | "mapIndex" | "try" | "maxTries" | "conf"> & {
  /** null: too large to travel with each try; the worker reads it. */
  readonly conf: BodyContext["conf"] | null;
  readonly version: number;
  readonly bundleHash: string;
  /** A worker silent for so long is taken as dead. */
  readonly lostAfterMs: number;
  /** Prefix of Temporal task queues. */
  readonly taskQueue: string;
  /** Events of the run's workflow from which it goes on in a new execution; left out: it never does. */
  readonly turnOverEvents?: number;
};

type Opened =
  /** Retention has taken where it stood. */
  | { readonly kind: "gone"; readonly state: RunState }
  | {
      /** `closed`: it is over, and waits for a command, if one comes. */
      readonly kind: "opened" | "closed";
      readonly info: RunInfo;
      readonly graph: RunGraph;
      readonly grants: readonly Grant[];
      /** Where it stands; null: at its beginning, its first step taken and asked for. */
      readonly progress: PackedProgress | RunProgress | null;
    };

/** What the maker of a run did already: the first step and its requests, so that the run begins with its grants. */
export interface OpenedAtStart {
  readonly info: RunInfo;
  readonly graph: RunGraph;
  /** Tasks whose first tries have their slots. */
  readonly grants: readonly string[];
}

export interface AdvanceInput {
  readonly run: number;
  /** Left out in histories from before it was sent. */
  readonly version?: number;
  readonly decisions: readonly Decision[];
  readonly requests: readonly SlotRequest[];
  /** Tries without a body that begin to wait; left out: none. */
  readonly waits?: { readonly info: RunInfo; readonly tries: readonly Grant[] };
}

export interface CloseInput {
  readonly run: number;
  readonly decisions: readonly Decision[];
  readonly state: RunState;
  readonly reason: string | null;
  readonly progress: PackedProgress;
}

/** A closed run goes on. */
export interface ReopenInput {
  readonly run: number;
  readonly decisions: readonly Decision[];
  readonly progress: PackedProgress;
  /** Another than it had; left out: the same. */
  readonly version?: number;
}

interface OpenVersionInput {
  readonly run: number;
  readonly version: number;
}

type OpenedVersion =
  | { readonly kind: "opened"; readonly info: RunInfo; readonly graph: RunGraph }
  | { readonly kind: "refused"; readonly code: string; readonly message: string };

export interface StopInput {
  readonly run: number;
  readonly tries: readonly Grant[];
}

export interface RunTaskInput {
  readonly info: RunInfo;
  readonly taskId: string;
  readonly mapIndex: number;
  readonly try: number;
  readonly maxTries: number;
  /** By name: where each comes from. */
  readonly inputs: Readonly<Record<string, InputRef>>;
  readonly asked?: AskedOfOutput;
  readonly executionTimeoutMs: number | null;
  readonly isolation: "shared" | "own";
  /** Why the try fails without its body's being run. */
  readonly refused?: string;
  /** Of a sensor: when its time-out is over, epoch ms; left out: it counts from this try's body. */
  readonly waitBy?: number;
  /** The worker of the try before was lost: what that one waited for may have come, and nobody knows. */
  readonly afterLost?: true;
  /**
   * It goes on after that wait: its own, or one of a try before whose worker was lost.
   */
  readonly resumed?: { readonly try: number; readonly wait: number };
}

/** Short: each is one statement. Run as local activities, then as ordinary ones when that fails. */
export interface RunActivities {
  openRun(run: number): Promise<Opened>;
  /** What a run of that version carries of its graph. */
  readGraph(version: number): Promise<RunGraph>;
  /** What a closed run would be in another version of its DAG. */
  openVersion(input: OpenVersionInput): Promise<OpenedVersion>;
  advance(input: AdvanceInput): Promise<readonly Grant[]>;
  closeRun(input: CloseInput): Promise<void>;
  /** True: it has its place among the active runs of its DAG; else it is told of it as of a grant. */
  reopenRun(input: ReopenInput): Promise<boolean>;
  /** It has its place, and goes on. */
  resumeRun(run: number): Promise<void>;
  stopTries(input: StopInput): Promise<void>;
}

export interface TaskResult {
  readonly outcome: TryOutcome;
  /** Tasks of the run (first tries) that were asked for with this try's record and have their slots. */
  readonly granted: readonly string[];
}

export interface TaskActivities {
  runTask(input: RunTaskInput): Promise<TaskResult>;
}

export interface ClockActivities {
  /** Creates what is due in one shard of the DAGs; the number of runs created. */
  createRuns(shard: number, shards: number): Promise<number>;
}
