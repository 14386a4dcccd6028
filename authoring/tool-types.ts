/** Types of the tasks that decide what follows, and of all that the function given to `dag()` gets. */
import type { TriggerRule } from "../core/rules.ts";
import type { TaskOrGroup, TaskRef } from "./ref-types.ts";
import type {
  AnyParams,
  CommonTaskOptions,
  InputValues,
  Inputs,
  Rendered,
  TaskContext,
  TaskGroupOf,
  TaskOf,
  Templates,
} from "./types.ts";
import type { SensorOf, WaitForOf, WaitForRunOf, WaitUntilOf } from "./wait-types.ts";

/** What follows a branch: a task or group right after it, by reference or id. A group means the tasks it begins with. */
export type Target = TaskOrGroup | string;

/** What a branch answers: what follows; null: nothing does. */
export type Targets = Target | readonly Target[] | null;

/** What a body is given, by its task's inputs, trigger rule and templates. */
type ContextOf<P, I, Rule, T> = TaskContext<InputValues<I, Rule>, P, Rendered<NoInfer<T>>>;
type PlainContext<P> = TaskContext<Record<never, never>, P, Record<never, never>>;

/** A task whose body answers `Answer`. Its output, for whoever reads it, is `Out`. */
interface DeciderOf<P, Answer, Out> {
  (id: string, body: (context: PlainContext<P>) => Answer | Promise<Answer>): TaskRef<Out>;
  <
    I extends Inputs = Record<never, never>,
    Rule extends TriggerRule = "all_success",
    T extends Templates = Record<never, never>,
  >(
    id: string,
    options: CommonTaskOptions<I, Rule, T>,
    body: (context: ContextOf<P, I, Rule, T>) => Answer | Promise<Answer>,
  ): TaskRef<Out>;
}

/** `branch()`. Its output is the list of the ids that follow. */
export type BranchOf<P> = DeciderOf<P, Targets, string[]>;

/** `shortCircuit()`. Its output is what its body answered. */
export type ShortCircuitOf<P> = DeciderOf<P, boolean, boolean>;

/** Without `otherwise` the answer must be one of the cases; with it any other text is "otherwise". */
type CaseKey<C, Else> = undefined extends Else ? Extract<keyof C, string> : string;

export interface SwitchOptions<
  C extends Readonly<Record<string, Targets>>,
  Else extends Targets | undefined,
  I extends Inputs = Record<never, never>,
  Rule extends TriggerRule = "all_success",
  T extends Templates = Templates,
> extends CommonTaskOptions<I, Rule, T> {
  /** What follows, by the body's answer. All of it comes after the switch by being named here. */
  readonly cases: C;
  /** What follows any other answer; null: nothing does. Default: another answer fails the task. */
  readonly otherwise?: Else;
}

/** `switchOn()`. Its output is the list of the ids that follow. */
export type SwitchOnOf<P> = <
  const C extends Readonly<Record<string, Targets>>,
  Else extends Targets | undefined = undefined,
  I extends Inputs = Record<never, never>,
  Rule extends TriggerRule = "all_success",
  T extends Templates = Record<never, never>,
>(
  id: string,
  options: SwitchOptions<C, Else, I, Rule, T>,
  body: (context: ContextOf<P, I, Rule, T>) => NoInfer<CaseKey<C, Else>> | Promise<NoInfer<CaseKey<C, Else>>>,
) => TaskRef<string[]>;

/** What the function given to `dag()` gets: the same functions as the imported ones, with the DAG's own types. */
export interface DagTools<P = AnyParams> {
  readonly task: TaskOf<P>;
  readonly taskGroup: TaskGroupOf;
  readonly branch: BranchOf<P>;
  readonly switchOn: SwitchOnOf<P>;
  readonly shortCircuit: ShortCircuitOf<P>;
  readonly sensor: SensorOf<P>;
  readonly waitFor: WaitForOf;
  readonly waitUntil: WaitUntilOf;
  readonly waitForRun: WaitForRunOf;
}
