/** A DAG while its builder function runs: takes tasks and order edges, and ends as a serial graph with its bodies. */
import { DefinitionError } from "../core/errors.ts";
import type { SerialGraph } from "../core/graph.ts";
import { checkId } from "../core/ids.ts";
import { didYouMean } from "../core/suggest.ts";
import { checkAcyclic } from "./cycle.ts";
import { DAG_OPTIONS, readOptions, TASK_DEFAULTS, TASK_OPTIONS, within } from "./options.ts";
import { makeRef, refIn } from "./ref.ts";
import type { Dag, OpenDag } from "./registry.ts";
import { serialise } from "./serialise.ts";
import { show } from "./show.ts";
import type { TaskBody, TaskRef } from "./types.ts";

/** A task as collected: options checked, edges as positions. */
export interface DraftTask {
  readonly id: string;
  readonly options: ReturnType<typeof readTaskOptions>;
  readonly inputs: Readonly<Record<string, number>>;
  /** Data and order edges alike. */
  readonly upstream: Set<number>;
}

export class Builder implements OpenDag {
  readonly dagId: string;
  readonly #where: string;
  readonly #options: ReturnType<typeof readDagOptions>;
  readonly #defaults: Readonly<Record<string, unknown>>;
  readonly #tasks: DraftTask[] = [];
  readonly #positions = new Map<string, number>();
  readonly #bodies = new Map<string, TaskBody>();
  #closed = false;

  constructor(id: unknown, options: unknown) {
    this.dagId = checkId("dag", id);
    this.#where = `dag "${this.dagId}"`;
    this.#options = readDagOptions(options, this.#where);
    this.#defaults = definedOnly(this.#options.defaults);
    readOptions(TASK_DEFAULTS, this.#defaults, `${this.#where}: defaults`);
  }

  addTask(id: unknown, options: unknown, body: unknown): TaskRef<unknown> {
    const taskId = checkId("task", id, `${this.#where}: `);
    const where = `${this.#where}, task "${taskId}"`;
    if (this.#positions.has(taskId)) {
      throw new DefinitionError(
        "duplicate_task",
        `${where}: this id is taken by another task of the DAG; give each task an id of its own`,
      );
    }
    if (typeof body !== "function") {
      throw new DefinitionError(
        "bad_body",
        `${where}: its body is ${show(body)}; expected a function as the last argument of task()`,
      );
    }
    const values = readTaskOptions(options, this.#defaults, where);
    const inputs = Object.fromEntries(
      Object.entries(values.inputs).map(([name, ref]) => [
        name,
        this.#positionOf(ref, `${where}: input "${name}"`, "inputs: { rows }"),
      ]),
    );
    const after = values.after.map((ref) =>
      this.#positionOf(ref, `${where}: option "after"`, "after: [rows]"),
    );

    const position = this.#tasks.length;
    this.#tasks.push({
      id: taskId,
      options: values,
      inputs,
      upstream: new Set([...Object.values(inputs), ...after]),
    });
    this.#positions.set(taskId, position);
    this.#bodies.set(taskId, body as TaskBody);
    const edge = (refs: readonly unknown[], word: string, add: (other: number) => void) => {
      for (const ref of refs) add(this.#positionOf(ref, `${where}: .${word}()`, `.${word}(rows)`));
    };
    return makeRef(this, taskId, {
      before: (later) => edge(later, "before", (other) => this.#tasks[other]!.upstream.add(position)),
      after: (earlier) => edge(earlier, "after", (other) => this.#tasks[position]!.upstream.add(other)),
    });
  }

  close(): Dag {
    this.#closed = true;
    checkAcyclic(this.#tasks, this.#where);
    const graph: SerialGraph = within(this.#where, () => serialise(this.dagId, this.#options, this.#tasks));
    const bodies = this.#bodies;
    return Object.freeze({ graph, bodyOf: (taskId: string) => bodies.get(taskId) });
  }

  /** `usage`: how a task named `rows` is given here. */
  #positionOf(ref: unknown, where: string, usage: string): number {
    const target = refIn(ref);
    if (target === undefined) {
      const isId = typeof ref === "string";
      const expected = isId ? "it takes what task() returned, not an id" : "expected what task() returned";
      const hint = isId && !this.#positions.has(ref) ? didYouMean(ref, this.#positions.keys()) : "";
      throw new DefinitionError(
        "unknown_upstream",
        `${where} is ${show(ref)}; ${expected}: const rows = task("rows", …), then ${usage}${hint}`,
      );
    }
    if (target.dag !== this) {
      throw new DefinitionError(
        "foreign_upstream",
        `${where} is task "${target.taskId}" of dag "${target.dag.dagId}"; expected a task of the same DAG`,
      );
    }
    if (this.#closed) {
      throw new DefinitionError(
        "dag_closed",
        `${where}: the DAG is complete already; set the order inside the function given to dag()`,
      );
    }
    return this.#positions.get(target.taskId)!;
  }
}

function readDagOptions(options: unknown, where: string) {
  return readOptions(DAG_OPTIONS, options, where);
}

/** The task's own options over the DAG's defaults; an undefined one counts as not given. */
function readTaskOptions(options: unknown, defaults: Readonly<Record<string, unknown>>, where: string) {
  const own =
    typeof options === "object" && options !== null && !Array.isArray(options) ? options : undefined;
  return readOptions(TASK_OPTIONS, own === undefined ? options : { ...defaults, ...definedOnly(own) }, where);
}

function definedOnly(options: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
