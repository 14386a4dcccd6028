/** Tasks that decide what follows: what their bodies answer becomes ids. */
import { DefinitionError, Terminal } from "../core/errors.ts";
import { didYouMean } from "../core/suggest.ts";
import type { Decides, DraftTask, TaskValues } from "./draft.ts";
import { refIn } from "./ref.ts";
import type { OpenDag } from "./registry.ts";
import { show } from "./show.ts";
import type { TaskBody } from "./types.ts";

/** Ids of the tasks that an id stands for: its own, or of a group those it begins with; undefined: there is none such. */
export type Begins = (id: string) => readonly string[] | undefined;

/** The body of a branch: answers the ids of the tasks that follow. What is no target is left to the rules of a run to refuse. */
export function branchBody(body: TaskBody, dag: OpenDag, begins: Begins): TaskBody {
  return (context) => after(body(context), (answer) => idsOf(answer, dag, begins));
}

export interface Cases {
  readonly cases: Readonly<Record<string, unknown>>;
  /** Undefined: another answer is an error. */
  readonly otherwise: unknown;
}

/** The body of a switch: what its case names. */
export function switchBody(body: TaskBody, { cases, otherwise }: Cases): TaskBody {
  const keys = Object.keys(cases);
  return (context) =>
    after(body(context), (answer) => {
      if (typeof answer === "string" && Object.hasOwn(cases, answer)) return cases[answer];
      if (otherwise !== undefined) return otherwise;
      const hint = typeof answer === "string" ? didYouMean(answer, keys) : "";
      throw new Terminal(
        "bad_branch",
        `a switch answers one of its cases, and ${show(answer)} is none of them${hint || `: they are ${keys.join(", ")}`}; add it to cases, or say what follows otherwise`,
      );
    });
}

/** What `cases` and `otherwise` name, one after the other. */
export function targetsIn({ cases, otherwise }: Cases): readonly unknown[] {
  return [...Object.values(cases), otherwise].flatMap((one) =>
    one === null || one === undefined ? [] : Array.isArray(one) ? (one as unknown[]) : [one],
  );
}

/** Options that a task that decides does not have. */
export function checkDecider(values: TaskValues, what: Decides, where: string): void {
  const name = what === "branch" ? "a branch" : "a short circuit";
  if (Object.keys(values.expand).length > 0) {
    throw new DefinitionError(
      "bad_option",
      `${where}: ${name} is not mapped by expand, as what follows would have as many answers; put it into a mapped group, where each instance decides for itself`,
    );
  }
  const option = values.setup ? "setup" : values.teardown !== null ? "teardown" : undefined;
  if (option === undefined) return;
  throw new DefinitionError(
    "bad_option",
    `${where}: ${name} is no ${option}; leave the option out, or make a task of it`,
  );
}

/** A branch that nothing comes after could only answer null. */
export function checkTargets(tasks: readonly DraftTask[], where: string): void {
  for (const [position, { id, decides, map }] of tasks.entries()) {
    if (decides !== "branch") continue;
    const after = tasks.filter(({ upstream, teardown }) => upstream.has(position) && teardown === null);
    if (after.some((task) => map === null || task.map === map)) continue;
    const inside =
      after.length > 0 ? " inside of its mapped group, where each instance decides for itself" : "";
    throw new DefinitionError(
      "no_targets",
      `${where}, task "${id}": it is a branch, and nothing comes right after it${inside}; say what it chooses from: .before(full, delta)`,
    );
  }
}

function idsOf(answer: unknown, dag: OpenDag, begins: Begins): unknown {
  if (answer === null || answer === undefined) return [];
  return (Array.isArray(answer) ? (answer as unknown[]) : [answer]).flatMap((one): unknown[] => {
    const target = refIn(one);
    if (target !== undefined && target.dag !== dag) {
      throw new Terminal(
        "bad_branch",
        `a branch answers which tasks of its own DAG follow, and ${target.node.kind} "${target.id}" is of dag "${target.dag.dagId}"`,
      );
    }
    const id = target === undefined ? one : target.id;
    return typeof id === "string" ? [...(begins(id) ?? [id])] : [one];
  });
}

/** At once when the answer is there. */
function after(answer: unknown, use: (answer: unknown) => unknown): unknown {
  return typeof (answer as { then?: unknown } | null | undefined)?.then === "function"
    ? Promise.resolve(answer).then(use)
    : use(answer);
}
