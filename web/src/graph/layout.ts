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

interface Routed extends Link {
  /** Points of the whole picture that it goes through, so that it passes by what it skips. */
  readonly way: readonly Spot[];
}

export interface Layout {
  /** A group stands before what is in it. */
  readonly placed: readonly Placed[];
  readonly links: readonly Routed[];
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
const NO_SHIFT: Spot = { x: 0, y: 0 };
const SHIFT: Spot = { x: PADDING, y: HEAD };
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
  const levelOf = leveller(items);
  const levels = new Map<string | null, Map<string, Link>>();
  for (const link of links) {
    const { level, lifted } = levelOf(link);
    levels.set(level, (levels.get(level) ?? new Map<string, Link>()).set(nameOf(lifted), lifted));
  }
  const placed = new Map<string, Placed>();
  const found = new Map<string | null, ReadonlyMap<string, readonly Spot[]>>();
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
    const { spots, ways } = spotsOf(boxes, [...(levels.get(parent)?.values() ?? [])], flow, most);
    found.set(parent, ways);
    const shift = parent === null ? NO_SHIFT : SHIFT;
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
  const cornerOf = (parent: string | null): Spot => {
    if (parent === null) return NO_SHIFT;
    const { item, x, y } = placed.get(parent)!;
    const outer = cornerOf(item.parent);
    return { x: outer.x + x, y: outer.y + y };
  };
  const routed = links.map((link): Routed => {
    const { level, lifted } = levelOf(link);
    const corner = cornerOf(level);
    const shift = level === null ? NO_SHIFT : SHIFT;
    const way = found.get(level)?.get(nameOf(lifted)) ?? [];
    return {
      ...link,
      way: way.map(({ x, y }) => ({ x: corner.x + shift.x + x, y: corner.y + shift.y + y })),
    };
  });
  return { placed: items.map((item) => placed.get(item.key)!), links: routed, width, height };
}

const nameOf = ({ from, to }: Link): string => `${from}\n${to}`;

/** A link counts at the level where its ends are first in different boxes; those are its ends there. */
function leveller(items: readonly Item[]): (link: Link) => { level: string | null; lifted: Link } {
  const parents = new Map(items.map((item) => [item.key, item.parent]));
  const chain = (key: string): string[] => {
    const found: string[] = [];
    for (let at: string | null = key; at !== null; at = parents.get(at) ?? null) found.unshift(at);
    return found;
  };
  return (link) => {
    const from = chain(link.from);
    const to = chain(link.to);
    let depth = 0;
    while (from[depth] === to[depth]) depth += 1;
    return {
      level: depth === 0 ? null : from[depth - 1]!,
      lifted: { from: from[depth]!, to: to[depth]! },
    };
  };
}

interface Spots {
  readonly spots: Map<string, Spot>;
  /** By the name of a link that passes a column by. */
  readonly ways: ReadonlyMap<string, readonly Spot[]>;
}

const NO_WAYS: ReadonlyMap<string, readonly Spot[]> = new Map();
/** dagre's points of a link to the next column: where it leaves, the middle, and where it arrives. */
const TO_THE_NEXT = 3;

function spotsOf(boxes: readonly Box[], links: readonly Link[], flow: Flow, most: number): Spots {
  if (links.length === 0 && boxes.length > COLUMN_AT_MOST)
    return { spots: packed(boxes, GAPS), ways: NO_WAYS };
  if (boxes.length > most) {
    const spots =
      flow === "right" ? layered(boxes, links, GAPS) : turned(layered(boxes.map(turnedBox), links, GAPS));
    return { spots, ways: NO_WAYS };
  }
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: flow === "right" ? "LR" : "TB", nodesep: GAPS.down, ranksep: GAPS.across });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { key, width, height } of boxes) graph.setNode(key, { width, height });
  for (const { from, to } of links) graph.setEdge(from, to);
  dagre.layout(graph);
  const spots = new Map(
    boxes.map(({ key, width, height }) => {
      const { x, y } = graph.node(key);
      return [key, { x: x - width / 2, y: y - height / 2 }];
    }),
  );
  const ways = new Map<string, readonly Spot[]>();
  for (const link of links) {
    const { points = [] } = graph.edge(link.from, link.to) as { points?: Spot[] };
    if (points.length > TO_THE_NEXT) ways.set(nameOf(link), points.slice(1, -1));
  }
  return { spots, ways };
}

const turnedBox = ({ key, width, height }: Box): Box => ({ key, width: height, height: width });

function turned(spots: ReadonlyMap<string, Spot>): Map<string, Spot> {
  return new Map([...spots].map(([key, { x, y }]) => [key, { x: y, y: x }]));
}
