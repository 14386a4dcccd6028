/**
 * The serial graph: what the processor stores for a DAG version and what a run interprets.
 * Plain JSON, no functions; keys are sorted when it is hashed (`core/canonical.ts`).
 */
import type { Timetable } from "./calendar/timetable.ts";
import type { SerialMap } from "./mapping.ts";
import type { RetryRule } from "./retry.ts";
import type { TriggerRule } from "./rules.ts";
import type { SerialWait } from "./waits.ts";

/** Raised when the shape changes; readers keep reading what live runs hold. */
export const GRAPH_FORMAT = 1;

export interface SerialGraph {
  readonly format: typeof GRAPH_FORMAT;
  readonly dagId: string;
  readonly description: string;
  /** Markdown. */
  readonly doc: string;
  readonly owner: string;
  readonly tags: readonly string[];
  readonly timetable: Timetable;
  /** The DAG's own zone: of its wall times and of `ds` (P4), whatever the timetable. */
  readonly zone: string;
  /** ISO instant, or null: not before the DAG's first boundary after it was first seen. */
  readonly startDate: string | null;
  /** ISO instant of the last logical date, inclusive, or null. */
  readonly endDate: string | null;
  readonly catchup: boolean;
  readonly maxActiveRuns: number;
  /** So many tries at once over all its runs; left out: as many as pools allow. */
  readonly maxActiveTasks?: number;
  /** JSON Schema of what a trigger may pass as `conf`; null: anything. */
  readonly params: Readonly<Record<string, unknown>> | null;
  /** In definition order, so that a group stands behind the one around it. */
  readonly groups: readonly SerialGroup[];
  /** In definition order; a task's position is its number in the run (`RunProgress.tasks`). */
  readonly tasks: readonly SerialTask[];
  /** Left out: nothing is mapped. */
  readonly maps?: readonly SerialMap[];
  /** Bound of a run from its first task's being asked for, ms; left out: none. */
  readonly runTimeoutMs?: number;
  /** How often what failed runs again before the run fails; left out: never. */
  readonly runRetries?: number;
  /** Rest before that, ms; left out: none. */
  readonly runRetryDelayMs?: number;
  /** After so many failed runs in a row the DAG is paused; left out: never. */
  readonly maxFailedRuns?: number;
}

/** Tasks shown, cleared and marked as one. */
export interface SerialGroup {
  readonly id: string;
  /** Position of the group around it, or null. */
  readonly parent: number | null;
  /** What people read instead of the id; empty: the id. */
  readonly label: string;
  /** Markdown. */
  readonly doc: string;
}

export interface SerialTask {
  readonly id: string;
  /** What people read instead of the id; empty: the id. */
  readonly label: string;
  /** Position of the innermost group around it, or null. */
  readonly group: number | null;
  /** Positions of the tasks this one waits for (data and order edges alike), ascending, distinct. */
  readonly upstream: readonly number[];
  /** Names of inputs to the upstream positions that feed them: `{ rows: 0 }`. */
  readonly inputs: Readonly<Record<string, number>>;
  readonly triggerRule: TriggerRule;
  /** How many tries may follow the first. */
  readonly retries: number;
  readonly retryDelayMs: number;
  /** 1 is a fixed delay; 2 doubles it each time. */
  readonly retryFactor: number;
  readonly retryMaxDelayMs: number | null;
  /** By how much of itself a delay may be shorter, 0 to 1; left out: 0. */
  readonly retryJitter?: number;
  /** The first that fits an error counts; left out: none. */
  readonly retryRules?: readonly RetryRule[];
  /** Bound of one try, or null. */
  readonly executionTimeoutMs: number | null;
  readonly pool: string;
  readonly poolSlots: number;
  /** Higher goes first within a pool; the weights of others that its weight rule adds are in it. */
  readonly priorityWeight: number;
  /** Task queue profile: which workers take it. */
  readonly queue: string;
  readonly isolation: "shared" | "own";
  /** Texts with `{{ … }}`, rendered for each try. */
  readonly templates: Readonly<Record<string, unknown>>;
  /** Markdown. */
  readonly doc: string;
  /** Position of the map (`SerialGraph.maps`) it is in; left out: it is not mapped. */
  readonly map?: number;
  /** Names of inputs to the lists of the map whose items feed them. */
  readonly items?: Readonly<Record<string, string>>;
  /** It chooses which of its direct downstream run, or whether anything after it does. */
  readonly decides?: "branch" | "short_circuit";
  /** So many of its instances at once in one run; left out: all. */
  readonly concurrency?: number;
  /** So many of its tries at once over all runs; left out: as many as its pool allows. */
  readonly maxActivePerDag?: number;
  /** What a try is taken to use; left out: 1. */
  readonly cores?: number;
  /** What it waits for; left out: it is no wait. */
  readonly wait?: SerialWait;
  /** It prepares what its teardowns take away again. */
  readonly setup?: true;
  /** It takes away what the setups at these positions prepared, however the work went; left out: it is no teardown. */
  readonly teardown?: readonly number[];
}
