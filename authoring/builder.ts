/** A DAG while its builder function runs: takes tasks, groups and order, and ends as a serial graph with its bodies. */
import { DefinitionError } from "../core/errors.ts";
import type { SerialGraph } from "../core/graph.ts";
import { checkId } from "../core/ids.ts";
import { didYouMean } from "../core/suggest.ts";
import { checkAcyclic } from "./cycle.ts";
import { addGroupEdges, holds, type GroupEdge } from "./group-edges.ts";
import { DAG_OPTIONS, GROUP_OPTIONS, readOptions, TASK_DEFAULTS, TASK_OPTIONS, within } from "./options.ts";
import { toOutput } from "./output.ts";
import { paramsOf, type Params } from "./params.ts";
import { makeRef, refIn, type Node } from "./ref.ts";
import type { Dag, OpenDag } from "./registry.ts";
import { serialise } from "./serialise.ts";
import { show } from "./show.ts";
import { compileTemplates, makeReady, type CompiledTemplates } from "./ready.ts";
import type { AnyParams, DagTools, GroupRef, TaskBody, TaskGroupOf, TaskOf, TaskRef } from "./types.ts";

/** A task as collected: options checked, edges as positions. */
export interface DraftTask {
  readonly id: string;
  readonly group: number | null;
  readonly options: ReturnType<typeof readTaskOptions>;
  readonly inputs: Readonly<Record<string, number>>;
  /** Data and order edges alike. */
  readonly upstream: Set<number>;
  readonly templates: CompiledTemplates | null;
  readonly body: TaskBody;
}

export interface DraftGroup {
  readonly id: string;
  readonly parent: number | null;
  readonly options: ReturnType<typeof readGroupOptions>;
  /** What the ids inside begin with. */
  readonly prefix: string;
  /** With those of what is around it. */
  readonly defaults: Readonly<Record<string, unknown>>;
}

export class Builder implements OpenDag {
  readonly dagId: string;
  readonly tools: DagTools;
  readonly #where: string;
  readonly #options: ReturnType<typeof readDagOptions>;
  readonly #defaults: Readonly<Record<string, unknown>>;
  readonly #params: Params | null;
  readonly #tasks: DraftTask[] = [];
  readonly #groups: DraftGroup[] = [];
  /** Tasks and groups by id: they share one set of names. */
  readonly #nodes = new Map<string, Node>();
  readonly #groupEdges: GroupEdge[] = [];
  /** The group whose function runs now. */
  #group: number | null = null;
  #closed = false;

  constructor(id: unknown, options: unknown) {
    this.dagId = checkId("dag", id);
    this.#where = `dag "${this.dagId}"`;
    this.#options = readDagOptions(options, this.#where);
    this.#defaults = definedOnly(this.#options.defaults);
    readOptions(TASK_DEFAULTS, this.#defaults, `${this.#where}: defaults`);
    const { params, schedule } = this.#options;
    this.#params =
      params === null
        ? null
        : within(`${this.#where}: option "params"`, () => paramsOf(params, schedule !== null));
    this.tools = Object.freeze({
      task: ((taskId: unknown, ...rest: readonly unknown[]) =>
        rest.length < 2
          ? this.addTask(taskId, {}, rest[0])
          : this.addTask(taskId, rest[0], rest[1])) as TaskOf<AnyParams>,
      taskGroup: ((groupId: unknown, ...rest: readonly unknown[]) =>
        rest.length < 2
          ? this.addGroup(groupId, {}, rest[0])
          : this.addGroup(groupId, rest[0], rest[1])) as TaskGroupOf,
    });
  }

  addTask(id: unknown, options: unknown, body: unknown): TaskRef<unknown> {
    const taskId = this.#newId("task", id);
    const where = `${this.#where}, task "${taskId}"`;
    if (typeof body !== "function") {
      throw new DefinitionError(
        "bad_body",
        `${where}: its body is ${show(body)}; expected a function as the last argument of task()`,
      );
    }
    const values = readTaskOptions(options, this.#around.defaults, where);
    const inputs = Object.fromEntries(
      Object.entries(values.inputs).map(([name, ref]) => {
        checkInputName(name, where);
        return [name, this.#taskOf(ref, `${where}: input "${name}"`, "inputs: { rows }")];
      }),
    );
    const after = values.after.map((ref) => this.#nodeOf(ref, `${where}: option "after"`, "after: [rows]"));
    const templates = within(`${where}: option "templates"`, () =>
      compileTemplates(values.templates, this.#params),
    );

    const node: Node = { kind: "task", position: this.#tasks.length };
    this.#tasks.push({
      id: taskId,
      group: this.#group,
      options: values,
      inputs,
      upstream: new Set(Object.values(inputs)),
      templates,
      body: body as TaskBody,
    });
    this.#nodes.set(taskId, node);
    for (const earlier of after) this.#order(earlier, node, `${where}: option "after"`);
    return this.#refTo(node, taskId, where) as TaskRef<unknown>;
  }

  addGroup(id: unknown, options: unknown, build: unknown): GroupRef<unknown> {
    const groupId = this.#newId("group", id);
    const where = `${this.#where}, group "${groupId}"`;
    if (typeof build !== "function") {
      throw new DefinitionError(
        "bad_group",
        `${where}: its last argument is ${show(build)}; expected a function that defines its tasks`,
      );
    }
    const values = readGroupOptions(options, where);
    const node: Node = { kind: "group", position: this.#groups.length };
    const parent = this.#group;
    const around = this.#around;
    const prefix = values.prefix ? `${groupId}.` : around.prefix;
    const defaults = { ...around.defaults, ...definedOnly(values.defaults) };
    readOptions(TASK_DEFAULTS, defaults, `${where}: defaults`);
    this.#groups.push({ id: groupId, parent, options: values, prefix, defaults });
    this.#nodes.set(groupId, node);
    const tasksBefore = this.#tasks.length;
    this.#group = node.position;
    let returned: unknown;
    try {
      returned = (build as () => unknown)();
    } finally {
      this.#group = parent;
    }
    if (typeof (returned as { then?: unknown } | undefined | null)?.then === "function") {
      throw new DefinitionError(
        "async_group",
        `${where}: its function is async, so tasks after an await would be lost; make it synchronous`,
      );
    }
    if (this.#tasks.length === tasksBefore) {
      throw new DefinitionError(
        "empty_group",
        `${where}: it has no task; define tasks inside its function, or leave the group out`,
      );
    }
    return this.#refTo(node, groupId, where, { returned }) as GroupRef<unknown>;
  }

  close(): Dag {
    this.#closed = true;
    addGroupEdges(this.#tasks, this.#groups, this.#groupEdges);
    checkAcyclic(this.#tasks, this.#where);
    const graph: SerialGraph = within(this.#where, () =>
      serialise(this.dagId, this.#options, this.#params, this.#groups, this.#tasks),
    );
    const bodies = new Map(this.#tasks.map((task) => [task.id, task]));
    return Object.freeze({ id: this.dagId, graph, ...makeReady(this.#params, bodies) });
  }

  get #around(): Pick<DraftGroup, "prefix" | "defaults"> {
    return this.#group === null ? { prefix: "", defaults: this.#defaults } : this.#groups[this.#group]!;
  }

  /** The whole id of something new, by what is around it. */
  #newId(what: "task" | "group", id: unknown): string {
    const own = checkId(what, id, `${this.#where}: `);
    const { prefix } = this.#around;
    const whole = prefix === "" ? own : checkId(what, prefix + own, `${this.#where}: `);
    const where = `${this.#where}, ${what} "${whole}"`;
    if (this.#closed) {
      throw new DefinitionError(
        "dag_closed",
        `${where}: the DAG is complete already; define it inside the function given to dag()`,
      );
    }
    const taken = this.#nodes.get(whole);
    if (taken === undefined) return whole;
    throw new DefinitionError(
      taken.kind === what ? `duplicate_${what}` : "id_clash",
      `${where}: this id is taken by ${taken.kind === what ? "another" : "a"} ${taken.kind} of the DAG; give each task and group an id of its own`,
    );
  }

  #refTo(node: Node, id: string, where: string, more: { readonly returned?: unknown } = {}): unknown {
    const edge = (refs: readonly unknown[], word: string, add: (other: Node, at: string) => void) => {
      const at = `${where}: .${word}()`;
      for (const ref of refs) add(this.#nodeOf(ref, at, `.${word}(rows)`), at);
    };
    return makeRef(
      { dag: this, id, node },
      {
        before: (later) => edge(later, "before", (other, at) => this.#order(node, other, at)),
        after: (earlier) => edge(earlier, "after", (other, at) => this.#order(other, node, at)),
      },
      more,
    );
  }

  #order(from: Node, to: Node, where: string): void {
    if (from.kind === "task" && to.kind === "task") {
      this.#tasks[to.position]!.upstream.add(from.position);
      return;
    }
    for (const [group, other] of [
      [from, to],
      [to, from],
    ] as const) {
      if (group.kind !== "group") continue;
      const isItself = other.kind === "group" && other.position === group.position;
      if (!isItself && !holds(this.#tasks, this.#groups, group.position, other)) continue;
      const id = this.#groups[group.position]!.id;
      throw new DefinitionError(
        "cycle",
        `${where}: group "${id}" and ${isItself ? "itself" : `what it holds`} cannot wait for each other; remove this edge`,
      );
    }
    this.#groupEdges.push({ from, to, where });
  }

  #taskOf(ref: unknown, where: string, usage: string): number {
    const node = this.#nodeOf(ref, where, usage);
    if (node.kind === "task") return node.position;
    throw new DefinitionError(
      "group_input",
      `${where} is group "${this.#groups[node.position]!.id}", which has no output; expected a task, such as one that the group's function returns: group.returned.rows`,
    );
  }

  /** `usage`: how a task named `rows` is given here. */
  #nodeOf(ref: unknown, where: string, usage: string): Node {
    const target = refIn(ref);
    if (target === undefined) {
      const isId = typeof ref === "string";
      const expected = isId ? "it takes what task() returned, not an id" : "expected what task() returned";
      const hint = isId && !this.#nodes.has(ref) ? didYouMean(ref, this.#nodes.keys()) : "";
      throw new DefinitionError(
        "unknown_upstream",
        `${where} is ${show(ref)}; ${expected}: const rows = task("rows", …), then ${usage}${hint}`,
      );
    }
    if (target.dag !== this) {
      throw new DefinitionError(
        "foreign_upstream",
        `${where} is ${target.node.kind} "${target.id}" of dag "${target.dag.dagId}"; expected a ${target.node.kind} of the same DAG`,
      );
    }
    if (this.#closed) {
      throw new DefinitionError(
        "dag_closed",
        `${where}: the DAG is complete already; set the order inside the function given to dag()`,
      );
    }
    return target.node;
  }
}

/** It names where an object comes from, and would be no input of the body. The database takes what `toOutput` takes. */
function checkInputName(name: string, where: string): void {
  const checked = toOutput(name, undefined, `the name of input ${JSON.stringify(name)}`);
  if (!checked.ok) throw new DefinitionError("bad_option", `${where}: ${checked.error.message}`);
  if (name !== "__proto__") return;
  throw new DefinitionError(
    "bad_option",
    `${where}: input "__proto__" cannot be called so; give it another name`,
  );
}

function readDagOptions(options: unknown, where: string) {
  return readOptions(DAG_OPTIONS, options, where);
}

function readGroupOptions(options: unknown, where: string) {
  return readOptions(GROUP_OPTIONS, options, where);
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
