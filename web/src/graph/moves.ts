/** Where an arrow key leads from a node: along the edges, and up and down among what stands in the same column. Pure. */
import type { Flow, Layout, Placed } from "./layout.ts";

export interface Centre {
  readonly x: number;
  readonly y: number;
}

/** Centres on the whole picture, by key. */
export function centresOf(placed: readonly Placed[]): Map<string, Centre> {
  const corners = new Map<string, Centre>();
  const centres = new Map<string, Centre>();
  for (const { item, x, y, width, height } of placed) {
    const around = item.parent === null ? { x: 0, y: 0 } : corners.get(item.parent)!;
    const corner = { x: around.x + x, y: around.y + y };
    corners.set(item.key, corner);
    // Of an open group its head is what is reached.
    const open = item.kind === "group" && !item.folded;
    centres.set(item.key, { x: corner.x + width / 2, y: corner.y + (open ? 18 : height / 2) });
  }
  return centres;
}

export type Arrow = "ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown";

export function neighbour(
  layout: Layout,
  centres: ReadonlyMap<string, Centre>,
  key: string,
  arrow: Arrow,
  flow: Flow,
): string | null {
  const from = centres.get(key);
  if (from === undefined) return null;
  const [on, back] = flow === "right" ? ["ArrowRight", "ArrowLeft"] : ["ArrowDown", "ArrowUp"];
  const along = arrow === on ? "from" : arrow === back ? "to" : null;
  const linked =
    along === null
      ? []
      : layout.links
          .filter((link) => link[along] === key)
          .map((link) => link[along === "from" ? "to" : "from"]);
  const near = linked.toSorted(
    (a, b) => aside(centres.get(a)!, from, flow) - aside(centres.get(b)!, from, flow),
  )[0];
  return near ?? inDirection(centres, key, from, arrow);
}

const aside = (a: Centre, b: Centre, flow: Flow): number =>
  flow === "right" ? Math.abs(a.y - b.y) : Math.abs(a.x - b.x);

/** The nearest that lies that way, more aside counting as farther. */
function inDirection(
  centres: ReadonlyMap<string, Centre>,
  key: string,
  from: Centre,
  arrow: Arrow,
): string | null {
  let best: string | null = null;
  let least = Infinity;
  for (const [other, at] of centres) {
    const dx = at.x - from.x;
    const dy = at.y - from.y;
    const ahead =
      arrow === "ArrowRight" ? dx : arrow === "ArrowLeft" ? -dx : arrow === "ArrowDown" ? dy : -dy;
    const off = arrow === "ArrowRight" || arrow === "ArrowLeft" ? Math.abs(dy) : Math.abs(dx);
    if (other === key || ahead <= 1) continue;
    const cost = ahead + 3 * off;
    if (cost < least) [best, least] = [other, cost];
  }
  return best;
}
