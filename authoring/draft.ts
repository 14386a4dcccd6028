/** Tasks and groups as collected while a DAG's function runs: options checked, edges as positions. */
import type { SerialMap } from "../core/mapping.ts";
import type { SerialWait } from "../core/waits.ts";
import type { Values } from "./options.ts";
import type { GROUP_OPTIONS, TASK_OPTIONS } from "./options.ts";
import type { Payload } from "./params.ts";
import type { CompiledTemplates } from "./ready.ts";
import type { TaskBody } from "./types.ts";

export type TaskValues = Values<typeof TASK_OPTIONS>;

export interface DraftTask {
  readonly id: string;
  readonly group: number | null;
  readonly options: TaskValues;
  readonly inputs: Readonly<Record<string, number>>;
  /** Names of inputs to the lists of the map around it that feed them. */
  readonly items: Readonly<Record<string, string>>;
  /** Position of the map it is in, or null. */
  readonly map: number | null;
  /** Positions of the setups it tears down; null: it is no teardown. */
  readonly teardown: readonly number[] | null;
  readonly decides: Decides | null;
  /** Data and order edges alike. */
  readonly upstream: Set<number>;
  readonly templates: CompiledTemplates | null;
  /** Null: it waits, and has none. */
  readonly body: TaskBody | null;
  /** What it waits for; null: it is no wait. */
  readonly wait: SerialWait | null;
  /** Of a wait that somebody ends: with what; null: with anything. */
  readonly payload: Payload | null;
}

export type Decides = "branch" | "short_circuit";

export interface DraftGroup {
  readonly id: string;
  readonly parent: number | null;
  readonly options: Values<typeof GROUP_OPTIONS>;
  /** What the ids inside begin with. */
  readonly prefix: string;
  /** With those of what is around it. */
  readonly defaults: Readonly<Record<string, unknown>>;
  /** Position of the map it is in, its own or that of a group around it; null: none. */
  readonly map: number | null;
}

/** Lists as collected; `SerialGraph.maps` as it will be. */
export type DraftMap = SerialMap;
