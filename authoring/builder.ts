/** A DAG while its builder function runs: takes tasks, groups and order, and ends as a serial graph with its bodies. */
import { DefinitionError } from "../core/errors.ts";
import type { SerialGraph } from "../core/graph.ts";
import { checkId } from "../core/ids.ts";
import { didYouMean } from "../core/suggest.ts";
import { checkAcyclic } from "./cycle.ts";
import { branchBody, checkDecider, switchBody, targetsIn, type Cases } from "./decide.ts";
import type { Decides, DraftGroup, DraftMap, DraftTask, TaskValues } from "./draft.ts";
import { foreignItem, nestedMap, readMap } from "./expand.ts";
import { addGroupEdges, beginsWith, holds, type GroupEdge } from "./group-edges.ts";
import { itemIn, makeItem } from "./item.ts";
import { readOptions, TASK_DEFAULTS, within } from "./options.ts";
import {
  checkInputName,
  definedOnly,
  readDagOptions,
  readGroupOptions,
  readSwitchOptions,
  readTaskOptions,
} from "./own-options.ts";
import { paramsOf, type Params } from "./params.ts";
import { makeRef, refIn, type Node } from "./ref.ts";
import type { GroupRef, TaskRef } from "./ref-types.ts";
import type { Dag, OpenDag } from "./registry.ts";
import { serialise } from "./serialise.ts";
import { show, showLast } from "./show.ts";
import { compileTemplates, makeReady } from "./ready.ts";
import { readTeardown } from "./teardown.ts";
import { toolsOf } from "./tools.ts";
import type { DagTools } from "./tool-types.ts";
import type { TaskBody } from "./types.ts";

export class Builder implements OpenDag {
  readonly dagId: string;
  readonly tools: DagTools;
  readonly #where: string;
  readonly #options: ReturnType<typeof readDagOptions>;
  readonly #defaults: Readonly<Record<string, unknown>>;
  readonly #params: Params | null;
  readonly #tasks: DraftTask[] = [];
  readonly #groups: DraftGroup[] = [];
  readonly #maps: DraftMap[] = [];
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
    this.tools = Object.freeze(toolsOf(() => this));
  }

  addTask(id: unknown, options: unknown, body: unknown): TaskRef<unknown> {
    const { taskId, where } = this.#newTask("task", id, body);
    return this.#add(taskId, readTaskOptions(options, this.#around.defaults, where), body, null, where);
  }

  addBranch(id: unknown, options: unknown, body: unknown): TaskRef<unknown> {
    const { taskId, where } = this.#newTask("branch", id, body);
    const values = readTaskOptions(options, this.#around.defaults, where);
    const wrapped = branchBody(body as TaskBody, this, (one) => this.#begins(one));
    return this.#add(taskId, values, wrapped, "branch", where);
  }

  addShortCircuit(id: unknown, options: unknown, body: unknown): TaskRef<unknown> {
    const { taskId, where } = this.#newTask("shortCircuit", id, body);
    const values = readTaskOptions(options, this.#around.defaults, where);
    return this.#add(taskId, values, body, "short_circuit", where);
  }

  addSwitch(id: unknown, options: unknown, body: unknown): TaskRef<unknown> {
    const { taskId, where } = this.#newTask("switchOn", id, body);
    const values = readSwitchOptions(options, this.#around.defaults, where);
    const cases: Cases = { cases: { ...values.cases }, otherwise: values.otherwise };
    if (Object.keys(cases.cases).length === 0) {
      throw new DefinitionError(
        "bad_option",
        `${where}: option "cases" is empty; expected what follows, by answer: cases: { eu: loadEu, us: loadUs }`,
      );
    }
    const targets = targetsIn(cases).map((target) => {
      const named = typeof target === "string" ? this.#nodes.get(target) : undefined;
      return named ?? this.#nodeOf(target, `${where}: one of its cases`, "cases: { eu: rows }");
    });
    const chosen = switchBody(body as TaskBody, cases);
    const wrapped = branchBody(chosen, this, (one) => this.#begins(one));
    const ref = this.#add(taskId, values, wrapped, "branch", where);
    const node = refIn(ref)!.node;
    for (const target of targets) this.#order(node, target, `${where}: option "cases"`);
    return ref;
  }

  #add(
    taskId: string,
    values: TaskValues,
    body: unknown,
    decides: Decides | null,
    where: string,
  ): TaskRef<unknown> {
    if (decides !== null) checkDecider(values, decides, where);
    const taskOf = (ref: unknown, at: string, usage: string) => this.#taskOf(ref, at, usage);
    const map = this.#mapOf(values, null, where);
    const inputs: Record<string, number> = {};
    const items: Record<string, string> = {};
    for (const [name, ref] of Object.entries(values.inputs)) {
      checkInputName(name, where);
      const at = `${where}: input "${name}"`;
      const item = itemIn(ref);
      if (item === undefined) inputs[name] = this.#taskOf(ref, at, "inputs: { rows }");
      else if (item.dag === this && item.map === map) items[name] = item.list;
      else throw foreignItem(at, ref, item.groupId);
    }
    for (const name of Object.keys(values.expand)) {
      if (Object.hasOwn(inputs, name)) {
        throw new DefinitionError(
          "bad_option",
          `${where}: "${name}" is in inputs and in expand, and the body would see one of them; give one another name`,
        );
      }
      items[name] = name;
    }
    if (values.maxActivePerRun !== null && map === null) {
      throw new DefinitionError(
        "not_mapped",
        `${where}: option "maxActivePerRun" is for instances of a mapped task, and it is not mapped; add expand, or leave it out`,
      );
    }
    const teardown = readTeardown(values, this.#tasks, where, taskOf);
    const after = values.after.map((ref) => this.#nodeOf(ref, `${where}: option "after"`, "after: [rows]"));
    const templates = within(`${where}: option "templates"`, () =>
      compileTemplates(values.templates, this.#params),
    );

    const node: Node = { kind: "task", position: this.#tasks.length };
    const lists = Object.keys(values.expand).length === 0 ? [] : this.#sourcesOf(map);
    this.#tasks.push({
      id: taskId,
      group: this.#group,
      options: values,
      inputs,
      items,
      map,
      teardown,
      decides,
      upstream: new Set([...Object.values(inputs), ...lists, ...(teardown ?? [])]),
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
        `${where}: ${showLast("function", build)}; expected one that defines its tasks, as the last argument`,
      );
    }
    const values = readGroupOptions(options, where);
    const node: Node = { kind: "group", position: this.#groups.length };
    const parent = this.#group;
    const around = this.#around;
    const prefix = values.prefix ? `${groupId}.` : around.prefix;
    const defaults = { ...around.defaults, ...definedOnly(values.defaults) };
    readOptions(TASK_DEFAULTS, defaults, `${where}: defaults`);
    const map = this.#mapOf(values, node.position, where);
    this.#groups.push({ id: groupId, parent, options: values, prefix, defaults, map });
    this.#nodes.set(groupId, node);
    const lists = Object.keys(values.expand);
    const tasksBefore = this.#tasks.length;
    this.#group = node.position;
    let returned: unknown;
    try {
      const items = lists.map((list) => [list, makeItem({ dag: this, groupId, map: map!, list })]);
      returned = (build as (given: object) => unknown)(Object.fromEntries(items) as object);
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
    if (lists.length > 0) {
      const at = `${where}: option "expand"`;
      for (const position of this.#sourcesOf(map)) this.#order({ kind: "task", position }, node, at);
    }
    return this.#refTo(node, groupId, where, { returned }) as GroupRef<unknown>;
  }

  close(): Dag {
    this.#closed = true;
    addGroupEdges(this.#tasks, this.#groups, this.#groupEdges);
    checkAcyclic(this.#tasks, this.#where);
    const graph: SerialGraph = within(this.#where, () =>
      serialise(this.dagId, this.#options, this.#params, this.#groups, this.#tasks, this.#maps),
    );
    const bodies = new Map(this.#tasks.map((task) => [task.id, task]));
    return Object.freeze({ id: this.dagId, graph, ...makeReady(this.#params, bodies) });
  }

  get #around(): Pick<DraftGroup, "prefix" | "defaults" | "map"> {
    return this.#group === null
      ? { prefix: "", defaults: this.#defaults, map: null }
      : this.#groups[this.#group]!;
  }

  /** The map that something new is in: its own, or that around it. `group`: its position, when it is a group. */
  #mapOf(values: Parameters<typeof readMap>[0], group: number | null, where: string): number | null {
    const own = readMap(values, group, where, (ref, at, usage) => this.#taskOf(ref, at, usage));
    const around = this.#around.map;
    if (own === null) return around;
    if (around !== null) throw nestedMap(where, this.#groups[this.#maps[around]!.group!]!.id);
    return this.#maps.push(own) - 1;
  }

  /** The tasks whose outputs a map's lists are. */
  #sourcesOf(map: number | null): number[] {
    const over = map === null ? {} : this.#maps[map]!.over;
    return Object.values(over).filter((source) => typeof source === "number");
  }

  /** Asked by bodies, when the DAG is complete. */
  #begins(id: string): readonly string[] | undefined {
    const node = this.#nodes.get(id);
    if (node === undefined) return undefined;
    if (node.kind === "task") return [id];
    return beginsWith(this.#tasks, this.#groups, node.position).map((position) => this.#tasks[position]!.id);
  }

  #newTask(tool: string, id: unknown, body: unknown): { readonly taskId: string; readonly where: string } {
    const taskId = this.#newId("task", id);
    const where = `${this.#where}, task "${taskId}"`;
    if (typeof body === "function") return { taskId, where };
    throw new DefinitionError(
      "bad_body",
      `${where}: ${showLast("body", body)}; expected a function as the last argument of ${tool}()`,
    );
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
      const item = itemIn(ref);
      if (item !== undefined) throw foreignItem(where, ref, item.groupId);
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
