/** What a DAG's function has defined so far, and how its parts name each other. */
import { DefinitionError } from "../core/errors.ts";
import { checkId } from "../core/ids.ts";
import { didYouMean } from "../core/suggest.ts";
import type { DraftGroup, DraftMap, DraftTask } from "./draft.ts";
import { foreignItem } from "./expand.ts";
import { beginsWith, holds, type GroupEdge } from "./group-edges.ts";
import { itemIn } from "./item.ts";
import { refIn, type Node } from "./ref.ts";
import type { OpenDag } from "./registry.ts";
import { show } from "./show.ts";

export class Collected {
  readonly tasks: DraftTask[] = [];
  readonly groups: DraftGroup[] = [];
  readonly maps: DraftMap[] = [];
  readonly groupEdges: GroupEdge[] = [];
  /** The DAG's function has returned: nothing is added any more. */
  isClosed = false;
  /** Tasks and groups by id: they share one set of names. */
  readonly #nodes = new Map<string, Node>();
  readonly #dag: OpenDag;
  readonly #where: string;

  constructor(dag: OpenDag, where: string) {
    this.#dag = dag;
    this.#where = where;
  }

  name(id: string, node: Node): void {
    this.#nodes.set(id, node);
  }

  find(id: string): Node | undefined {
    return this.#nodes.get(id);
  }

  /** The whole id of something new, by what is around it. */
  newId(what: "task" | "group", id: unknown, prefix: string): string {
    const own = checkId(what, id, `${this.#where}: `);
    const whole = prefix === "" ? own : checkId(what, prefix + own, `${this.#where}: `);
    const where = `${this.#where}, ${what} "${whole}"`;
    if (this.isClosed) {
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

  /** Asked by bodies, when the DAG is complete. */
  begins(id: string): readonly string[] | undefined {
    const node = this.#nodes.get(id);
    if (node === undefined) return undefined;
    if (node.kind === "task") return [id];
    return beginsWith(this.tasks, this.groups, node.position).map((position) => this.tasks[position]!.id);
  }

  /** The tasks whose outputs a map's lists are. */
  sourcesOf(map: number | null): number[] {
    const over = map === null ? {} : this.maps[map]!.over;
    return Object.values(over).filter((source) => typeof source === "number");
  }

  order(from: Node, to: Node, where: string): void {
    if (from.kind === "task" && to.kind === "task") {
      this.tasks[to.position]!.upstream.add(from.position);
      return;
    }
    for (const [group, other] of [
      [from, to],
      [to, from],
    ] as const) {
      if (group.kind !== "group") continue;
      const isItself = other.kind === "group" && other.position === group.position;
      if (!isItself && !holds(this.tasks, this.groups, group.position, other)) continue;
      const id = this.groups[group.position]!.id;
      throw new DefinitionError(
        "cycle",
        `${where}: group "${id}" and ${isItself ? "itself" : `what it holds`} cannot wait for each other; remove this edge`,
      );
    }
    this.groupEdges.push({ from, to, where });
  }

  taskOf(ref: unknown, where: string, usage: string): number {
    const node = this.nodeOf(ref, where, usage);
    if (node.kind === "task") return node.position;
    throw new DefinitionError(
      "group_input",
      `${where} is group "${this.groups[node.position]!.id}", which has no output; expected a task, such as one that the group's function returns: group.returned.rows`,
    );
  }

  /** `usage`: how a task named `rows` is given here. */
  nodeOf(ref: unknown, where: string, usage: string): Node {
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
    if (target.dag !== this.#dag) {
      throw new DefinitionError(
        "foreign_upstream",
        `${where} is ${target.node.kind} "${target.id}" of dag "${target.dag.dagId}"; expected a ${target.node.kind} of the same DAG`,
      );
    }
    if (this.isClosed) {
      throw new DefinitionError(
        "dag_closed",
        `${where}: the DAG is complete already; set the order inside the function given to dag()`,
      );
    }
    return target.node;
  }
}
