/** Checked by tsc: what leaves the API says the same as what it is made from. */
import { expect, test } from "vitest";
import type * as contracts from "../../api/contracts.ts";
import type * as limits from "../../api/contracts-limits.ts";
import type * as waits from "../../api/contracts-waits.ts";
import type { AppDeps } from "../../api/deps.ts";
import type { MeridianClient, TriggeredRun } from "../../client/types.ts";
import type { Timetable } from "../../core/calendar/timetable.ts";
import type { SerialGraph, SerialTask } from "../../core/graph.ts";
import type { LimitsChange } from "../../core/limits-diff.ts";
import type { SerialWait } from "../../core/waits.ts";
import type { MappedOver } from "../../core/mapped-over.ts";
import type { CellRow, RunRow, WaitingRow } from "../../db/read/runs.ts";
import type { TryRow, WaitedRow } from "../../db/read/tries.ts";
import type { WaitRow } from "../../db/read/waits.ts";

type Plain<T> = T extends readonly (infer E)[]
  ? Plain<E>[]
  : T extends object
    ? { -readonly [K in keyof T]: Plain<T[K]> }
    : T;
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** `some_at` of a row leaves as `someAt`, a Date as text. */
type Camel<K> = K extends `${infer A}_${infer B}` ? `${A}${Capitalize<Camel<B>>}` : K;
type Left<T> = T extends Date ? string : T;
type AsTold<Row> = { [K in keyof Row as Camel<K>]: Left<Row[K]> };

/** Fields that are told otherwise than they are kept: left out there, null here. */
type ToldOfRun = "maxActiveTasks" | "runTimeoutMs" | "maxFailedRuns";
type Told =
  | "retryRules"
  | "decides"
  | "concurrency"
  | "setup"
  | "teardown"
  | "wait"
  | "maxActivePerDag"
  | "cores";

const same = <A, B>(answer: Same<Plain<A>, Plain<B>>): void => expect(answer).toBe(true);

test("types: contracts say what rows and graphs say", () => {
  // Proof that a difference does not compile.
  // @ts-expect-error a state is no number
  same<{ state: string }, { state: number }>(true);
  // @ts-expect-error a missing field is a difference
  same<{ a: 1 }, { a: 1; b: 2 }>(true);

  same<
    Omit<contracts.GraphTask, "wait" | "mapped">,
    Required<Omit<SerialTask, "upstream" | "inputs" | "group" | "map" | "items" | Told>> & {
      group: string | null;
      retryRules: { error: string; action: "retry" | "fail" | "wait"; delayMs: number | null }[];
      decides: NonNullable<SerialTask["decides"]> | null;
      concurrency: number | null;
      maxActivePerDag: number | null;
      cores: number;
      setup: boolean;
      teardown: string[] | null;
    }
  >(true);
  // zod's optional fields may also be undefined.
  type All<T> = T extends unknown ? { [K in keyof T]-?: Exclude<T[K], undefined> } : never;
  same<All<NonNullable<contracts.GraphTask["wait"]>>, All<SerialWait>>(true);
  same<All<NonNullable<contracts.GraphTask["mapped"]>>, All<MappedOver>>(true);
  same<contracts.Timetable, Timetable>(true);
  same<limits.LimitsChange, LimitsChange>(true);
  same<
    Omit<contracts.Graph, "tasks" | "edges" | "groups">,
    Required<
      Omit<
        SerialGraph,
        "format" | "dagId" | "description" | "owner" | "tags" | "tasks" | "groups" | "maps" | ToldOfRun
      >
    > & {
      maxActiveTasks: number | null;
      runTimeoutMs: number | null;
      maxFailedRuns: number | null;
    }
  >(true);
  same<contracts.TriggeredRun["state"], TriggeredRun["state"]>(true);
  same<Parameters<MeridianClient["pause"]>[2], contracts.PauseState["reason"]>(true);
  same<contracts.LogPiece, Awaited<ReturnType<AppDeps["logs"]["read"]>>>(true);

  // Of most there is none: it is left out then.
  same<Omit<contracts.Cell, "mapLabel">, Omit<AsTold<CellRow>, "label">>(true);
  same<
    Omit<contracts.Try, "error" | "stored" | "waited" | "waits">,
    Omit<AsTold<TryRow>, "error" | "stored">
  >(true);
  same<contracts.Waited, Omit<AsTold<WaitedRow>, "try">>(true);
  same<
    Omit<contracts.Run, "key" | "interval" | "logicalDate" | "version">,
    Omit<AsTold<RunRow>, "run" | "startAt" | "endAt" | "logicalAt" | "versionNumber">
  >(true);
  same<
    Omit<contracts.Waiting, "taskId" | "pool">,
    Omit<AsTold<WaitingRow>, "run" | "taskId" | "account" | "notBegun">
  >(true);
  same<
    Omit<
      waits.Wait,
      | "key"
      | "state"
      | "reason"
      | "url"
      | "lastCheckAt"
      | "nextCheckAt"
      | "dueAt"
      | "since"
      | "other"
      | "mapLabel"
    >,
    Omit<AsTold<WaitRow>, "run" | "label" | "queue" | "spec" | "check" | "nextAt" | "checkedAt" | "begunAt">
  >(true);
});
