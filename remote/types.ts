/** What a client knows of the DAGs it is made for. */
import type { Dag, DagId } from "../authoring/registry.ts";

/** The DAGs named by a DAG, a list of them, or a module that exports them beside other things. */
type DagIn<Dags> =
  Dags extends Dag<string, unknown>
    ? Dags
    : Dags extends readonly (infer One)[]
      ? Extract<One, Dag<string, unknown>>
      : Extract<Dags[keyof Dags], Dag<string, unknown>>;

/** Params of the DAG with this id, where the compiler knows it; never: it does not. */
type Known<One, Id> =
  One extends Dag<infer Its, infer Params>
    ? string extends Its
      ? never
      : Id extends Its
        ? Params
        : never
    : never;

type Anything = Readonly<Record<string, unknown>>;

/** The ids that may be named: any text when the client knows no DAGs, or one whose id is made at run time. */
export type IdsOf<Dags> = [DagIn<Dags>] extends [never] ? string : DagId<DagIn<Dags>>;

/** What a trigger of this DAG passes: fields with a default may be missing. */
export type TriggerParams<Dags, Id> = [Known<DagIn<Dags>, Id>] extends [never]
  ? Anything
  : unknown extends Known<DagIn<Dags>, Id>
    ? Anything
    : Known<DagIn<Dags>, Id>;

/** Params may be left out where none is needed. */
export type TriggerArguments<Dags, Id, Options> =
  Partial<TriggerParams<Dags, Id>> extends TriggerParams<Dags, Id>
    ? [params?: TriggerParams<Dags, Id>, options?: Options]
    : [params: TriggerParams<Dags, Id>, options?: Options];
