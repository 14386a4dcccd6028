/** Where each item of a graph stands. Each open group is laid out by itself, then counts as one box in what is around it. */
import dagre from "@dagrejs/dagre";
import { layered, packed, type Box, type Gaps, type Spot } from "./layered.ts";
import type { Item, Link, Sight } from "./tree.ts";

export interface Placed {
  readonly item: Item;
  /** Within the group around it. */
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Layout {
  /** A group stands before what is in it. */
  readonly placed: readonly Placed[];
  readonly links: readonly Link[];
  readonly width: number;
  readonly height: number;
}

/** Whether work flows to the right or downwards. */
export type Flow = "right" | "down";

const TASK_WIDTH = 190;
const TASK_HEIGHT = 46;
const FOLDED_HEIGHT = 58;
/** Room for a group's head, and around what is in it. */
const HEAD = 36;
const PADDING = 14;
const GAPS: Gaps = { across: 42, down: 14 };
/** dagre draws better, and takes about 0.3 s over so many nodes of a level, growing with their square. */
const DAGRE_AT_MOST = 100;
/** It takes 0.4 s for 1,000 nodes in groups of 20, and the page must not stand still for so long. */
const DAGRE_IN_ALL = 300;
/** Up to so many without a link stand in one column. */
const COLUMN_AT_MOST = 8;

export function layOut({ items, links }: Sight, flow: Flow = "right"): Layout {
  const children = new Map<string | null, Item[]>();
  for (const item of items) {
    const known = children.get(item.parent);
    if (known === undefined) children.set(item.parent, [item]);
    else known.push(item);
  }
  const levels = linksByLevel(items, links);
  const placed = new Map<string, Placed>();
  const most = items.length > DAGRE_IN_ALL ? 0 : DAGRE_AT_MOST;
  const fill = (parent: string | null): { width: number; height: number } => {
    const inside = children.get(parent) ?? [];
    const boxes = inside.map((item): Box => {
      if (item.kind === "task") return { key: item.key, width: TASK_WIDTH, height: TASK_HEIGHT };
      if (item.folded) return { key: item.key, width: TASK_WIDTH, height: FOLDED_HEIGHT };
      const { width, height } = fill(item.key);
      return {
        key: item.key,
        width: Math.max(TASK_WIDTH, width + 2 * PADDING),
        height: height + HEAD + PADDING,
      };
    });
    const spots = spotsOf(boxes, levels.get(parent) ?? [], flow, most);
    const shift = parent === null ? { x: 0, y: 0 } : { x: PADDING, y: HEAD };
    let width = 0;
    let height = 0;
    for (const [at, box] of boxes.entries()) {
      const spot = spots.get(box.key)!;
      width = Math.max(width, spot.x + box.width);
      height = Math.max(height, spot.y + box.height);
      placed.set(box.key, {
        item: inside[at]!,
        x: spot.x + shift.x,
        y: spot.y + shift.y,
        width: box.width,
        height: box.height,
      });
    }
    return { width, height };
  };
  const { width, height } = fill(null);
  return { placed: items.map((item) => placed.get(item.key)!), links, width, height };
}

/** A link counts at the level where its ends are first in different boxes. By the group around that level. */
function linksByLevel(items: readonly Item[], links: readonly Link[]): Map<string | null, Link[]> {
  const parents = new Map(items.map((item) => [item.key, item.parent]));
  const chain = (key: string): string[] => {
    const found: string[] = [];
    for (let at: string | null = key; at !== null; at = parents.get(at) ?? null) found.unshift(at);
    return found;
  };
  const levels = new Map<string | null, Map<string, Link>>();
  for (const link of links) {
    const from = chain(link.from);
    const to = chain(link.to);
    let depth = 0;
    while (from[depth] === to[depth]) depth += 1;
    const level = depth === 0 ? null : from[depth - 1]!;
    const lifted = { from: from[depth]!, to: to[depth]! };
    const known = levels.get(level) ?? new Map<string, Link>();
    levels.set(level, known.set(`${lifted.from}\n${lifted.to}`, lifted));
  }
  return new Map([...levels].map(([level, known]) => [level, [...known.values()]]));
}

function spotsOf(boxes: readonly Box[], links: readonly Link[], flow: Flow, most: number): Map<string, Spot> {
  if (links.length === 0 && boxes.length > COLUMN_AT_MOST) return packed(boxes, GAPS);
  if (boxes.length > most)
    return flow === "right"
      ? layered(boxes, links, GAPS)
      : turned(layered(boxes.map(turnedBox), links, GAPS));
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: flow === "right" ? "LR" : "TB", nodesep: GAPS.down, ranksep: GAPS.across });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { key, width, height } of boxes) graph.setNode(key, { width, height });
  for (const { from, to } of links) graph.setEdge(from, to);
  dagre.layout(graph);
  return new Map(
    boxes.map(({ key, width, height }) => {
      const { x, y } = graph.node(key);
      return [key, { x: x - width / 2, y: y - height / 2 }];
    }),
  );
}

const turnedBox = ({ key, width, height }: Box): Box => ({ key, width: height, height: width });

function turned(spots: ReadonlyMap<string, Spot>): Map<string, Spot> {
  return new Map([...spots].map(([key, { x, y }]) => [key, { x: y, y: x }]));
}
