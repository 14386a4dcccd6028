/** A DAG while its builder function runs: takes tasks, groups and order, and ends as a serial graph with its bodies. */
import { DefinitionError } from "../core/errors.ts";
import type { SerialGraph } from "../core/graph.ts";
import { checkId } from "../core/ids.ts";
import { labelsOf } from "../core/map-label.ts";
import type { SerialWait } from "../core/waits.ts";
import { Collected } from "./collected.ts";
import { checkAcyclic } from "./cycle.ts";
import { branchBody, checkDecider, checkTargets, switchBody, targetsIn, type Cases } from "./decide.ts";
import type { Decides, DraftGroup, TaskValues } from "./draft.ts";
import { foreignItem, nestedMap, readMap } from "./expand.ts";
import { addGroupEdges } from "./group-edges.ts";
import { itemIn, makeItem } from "./item.ts";
import { readOptions, TASK_DEFAULTS, TASK_OPTIONS, within } from "./options.ts";
import {
  checkInputName,
  definedOnly,
  readDagOptions,
  readGroupOptions,
  readSwitchOptions,
  readTaskOptions,
} from "./own-options.ts";
import { paramsOf, payloadOf, type Params, type Payload } from "./params.ts";
import { makeRef, refIn, type Node } from "./ref.ts";
import type { GroupRef, TaskRef } from "./ref-types.ts";
import type { Dag, OpenDag } from "./registry.ts";
import { serialise } from "./serialise.ts";
import { showLast } from "./show.ts";
import { compileTemplates, makeReady } from "./ready.ts";
import { readTeardown } from "./teardown.ts";
import { toolsOf } from "./tools.ts";
import type { DagTools } from "./tool-types.ts";
import type { TaskBody } from "./types.ts";
import {
  readSensorOptions,
  readWaitForOptions,
  readWaitForRunOptions,
  readWaitUntilOptions,
} from "./wait-options.ts";
import { eventOf, otherOf, sensorBody, sensorOf, untilOf } from "./waits.ts";

/** What tells one kind of task from another. */
interface Kind {
  readonly body: TaskBody | null;
  readonly decides?: Decides;
  readonly wait?: SerialWait;
  readonly payload?: Payload | null;
}

/** Of a wait's options, those that it has not got. */
const NO_OPTIONS = readOptions(TASK_OPTIONS, {}, "");

export class Builder implements OpenDag {
  readonly dagId: string;
  readonly tools: DagTools;
  readonly #where: string;
  readonly #options: ReturnType<typeof readDagOptions>;
  readonly #defaults: Readonly<Record<string, unknown>>;
  readonly #params: Params | null;
  readonly #has: Collected;
  /** The group whose function runs now. */
  #group: number | null = null;

  constructor(id: unknown, options: unknown) {
    this.dagId = checkId("dag", id);
    this.#where = `dag "${this.dagId}"`;
    this.#has = new Collected(this, this.#where);
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
    return this.#add(taskId, readTaskOptions(options, this.#around.defaults, where), where, {
      body: body as TaskBody,
    });
  }

  addBranch(id: unknown, options: unknown, body: unknown): TaskRef<unknown> {
    const { taskId, where } = this.#newTask("branch", id, body);
    const values = readTaskOptions(options, this.#around.defaults, where);
    const wrapped = branchBody(body as TaskBody, this, (one) => this.#has.begins(one));
    return this.#add(taskId, values, where, { body: wrapped, decides: "branch" });
  }

  addShortCircuit(id: unknown, options: unknown, body: unknown): TaskRef<unknown> {
    const { taskId, where } = this.#newTask("shortCircuit", id, body);
    const values = readTaskOptions(options, this.#around.defaults, where);
    return this.#add(taskId, values, where, { body: body as TaskBody, decides: "short_circuit" });
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
      const named = typeof target === "string" ? this.#has.find(target) : undefined;
      return named ?? this.#has.nodeOf(target, `${where}: one of its cases`, "cases: { eu: rows }");
    });
    const chosen = switchBody(body as TaskBody, cases);
    const wrapped = branchBody(chosen, this, (one) => this.#has.begins(one));
    const ref = this.#add(taskId, values, where, { body: wrapped, decides: "branch" });
    const node = refIn(ref)!.node;
    for (const target of targets) this.#has.order(node, target, `${where}: option "cases"`);
    return ref;
  }

  addSensor(id: unknown, options: unknown, check: unknown): TaskRef<unknown> {
    const { taskId, where } = this.#newTask("sensor", id, check);
    const values = readSensorOptions(options, this.#around.defaults, where);
    return this.#add(taskId, { ...NO_OPTIONS, ...values }, where, {
      body: sensorBody(check as TaskBody),
      wait: sensorOf(values),
    });
  }

  addEvent(id: unknown, options: unknown): TaskRef<unknown> {
    const { taskId, where } = this.#newId(id);
    const values = readWaitForOptions(options, where);
    const payload =
      values.payload === null ? null : within(`${where}: option "payload"`, () => payloadOf(values.payload));
    const wait = eventOf(values, payload);
    return this.#add(taskId, { ...NO_OPTIONS, ...values }, where, { body: null, wait, payload });
  }

  addUntil(id: unknown, options: unknown): TaskRef<unknown> {
    const { taskId, where } = this.#newId(id);
    const values = readWaitUntilOptions(options, where);
    const wait = untilOf(values, this.#options.zone, where);
    return this.#add(taskId, { ...NO_OPTIONS, ...values }, where, { body: null, wait });
  }

  addOther(id: unknown, options: unknown): TaskRef<unknown> {
    const { taskId, where } = this.#newId(id);
    const values = readWaitForRunOptions(options, this.#around.defaults, where);
    const wait = otherOf(values, { dagId: this.dagId, zone: this.#options.zone }, where);
    return this.#add(taskId, { ...NO_OPTIONS, ...values }, where, { body: null, wait });
  }

  #add(taskId: string, values: TaskValues, where: string, kind: Kind): TaskRef<unknown> {
    const { body, decides = null, wait = null, payload = null } = kind;
    if (decides !== null) checkDecider(values, decides, where);
    const taskOf = (ref: unknown, at: string, usage: string) => this.#has.taskOf(ref, at, usage);
    const map = this.#mapOf(values, null, where);
    const inputs: Record<string, number> = {};
    const items: Record<string, string> = {};
    for (const [name, ref] of Object.entries(values.inputs)) {
      checkInputName(name, where);
      const at = `${where}: input "${name}"`;
      const item = itemIn(ref);
      if (item === undefined) inputs[name] = this.#has.taskOf(ref, at, "inputs: { rows }");
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
    const teardown = readTeardown(values, this.#has.tasks, where, taskOf);
    const after = values.after.map((ref) =>
      this.#has.nodeOf(ref, `${where}: option "after"`, "after: [rows]"),
    );
    const templates = within(`${where}: option "templates"`, () =>
      compileTemplates(values.templates, this.#params),
    );

    const node: Node = { kind: "task", position: this.#has.tasks.length };
    const lists = Object.keys(values.expand).length === 0 ? [] : this.#has.sourcesOf(map);
    this.#has.tasks.push({
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
      body,
      wait,
      payload,
    });
    this.#has.name(taskId, node);
    for (const earlier of after) this.#has.order(earlier, node, `${where}: option "after"`);
    return this.#refTo(node, taskId, where) as TaskRef<unknown>;
  }

  addGroup(id: unknown, options: unknown, build: unknown): GroupRef<unknown> {
    const groupId = this.#has.newId("group", id, this.#around.prefix);
    const where = `${this.#where}, group "${groupId}"`;
    if (typeof build !== "function") {
      throw new DefinitionError(
        "bad_group",
        `${where}: ${showLast("function", build)}; expected one that defines its tasks, as the last argument`,
      );
    }
    const values = readGroupOptions(options, where);
    const node: Node = { kind: "group", position: this.#has.groups.length };
    const parent = this.#group;
    const around = this.#around;
    const prefix = values.prefix ? `${groupId}.` : around.prefix;
    const defaults = { ...around.defaults, ...definedOnly(values.defaults) };
    readOptions(TASK_DEFAULTS, defaults, `${where}: defaults`);
    const map = this.#mapOf(values, node.position, where);
    this.#has.groups.push({ id: groupId, parent, options: values, prefix, defaults, map });
    this.#has.name(groupId, node);
    const lists = Object.keys(values.expand);
    const tasksBefore = this.#has.tasks.length;
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
    if (this.#has.tasks.length === tasksBefore) {
      throw new DefinitionError(
        "empty_group",
        `${where}: it has no task; define tasks inside its function, or leave the group out`,
      );
    }
    if (lists.length > 0) {
      const at = `${where}: option "expand"`;
      for (const position of this.#has.sourcesOf(map)) this.#has.order({ kind: "task", position }, node, at);
    }
    return this.#refTo(node, groupId, where, { returned }) as GroupRef<unknown>;
  }

  close(): Dag {
    this.#has.isClosed = true;
    addGroupEdges(this.#has.tasks, this.#has.groups, this.#has.groupEdges);
    checkAcyclic(this.#has.tasks, this.#where);
    checkTargets(this.#has.tasks, this.#where);
    const graph: SerialGraph = within(this.#where, () =>
      serialise(this.dagId, this.#options, this.#params, this.#has.groups, this.#has.tasks, this.#has.maps),
    );
    const bodies = new Map(this.#has.tasks.map((task) => [task.id, task]));
    return Object.freeze({ id: this.dagId, graph, ...makeReady(this.#params, bodies, labelsOf(graph)) });
  }

  get #around(): Pick<DraftGroup, "prefix" | "defaults" | "map"> {
    return this.#group === null
      ? { prefix: "", defaults: this.#defaults, map: null }
      : this.#has.groups[this.#group]!;
  }

  /** The map that something new is in: its own, or that around it. `group`: its position, when it is a group. */
  #mapOf(values: Parameters<typeof readMap>[0], group: number | null, where: string): number | null {
    const own = readMap(values, group, where, (ref, at, usage) => this.#has.taskOf(ref, at, usage));
    const around = this.#around.map;
    if (own === null) return around;
    if (around !== null) throw nestedMap(where, this.#has.groups[this.#has.maps[around]!.group!]!.id);
    return this.#has.maps.push(own) - 1;
  }

  #newId(id: unknown): { readonly taskId: string; readonly where: string } {
    const taskId = this.#has.newId("task", id, this.#around.prefix);
    return { taskId, where: `${this.#where}, task "${taskId}"` };
  }

  #newTask(tool: string, id: unknown, body: unknown): { readonly taskId: string; readonly where: string } {
    const { taskId, where } = this.#newId(id);
    if (typeof body === "function") return { taskId, where };
    throw new DefinitionError(
      "bad_body",
      `${where}: ${showLast("body", body)}; expected a function as the last argument of ${tool}()`,
    );
  }

  #refTo(node: Node, id: string, where: string, more: { readonly returned?: unknown } = {}): unknown {
    const edge = (refs: readonly unknown[], word: string, add: (other: Node, at: string) => void) => {
      const at = `${where}: .${word}()`;
      for (const ref of refs) add(this.#has.nodeOf(ref, at, `.${word}(rows)`), at);
    };
    return makeRef(
      { dag: this, id, node },
      {
        before: (later) => edge(later, "before", (other, at) => this.#has.order(node, other, at)),
        after: (earlier) => edge(earlier, "after", (other, at) => this.#has.order(other, node, at)),
      },
      more,
    );
  }
}
