/** An edge that passes by what it skips, through the points that the layout kept free for it. */
import { BaseEdge, type Edge, type EdgeProps } from "@xyflow/react";
import type { Flow } from "./layout.ts";
import type { Spot } from "./layered.ts";

type Way = Edge<{ readonly way: readonly Spot[]; readonly flow: Flow }, "way">;

export function WayEdge({ sourceX, sourceY, targetX, targetY, markerEnd, data }: EdgeProps<Way>) {
  const { way = [], flow = "right" } = data ?? {};
  const points = [{ x: sourceX, y: sourceY }, ...way, { x: targetX, y: targetY }];
  return <BaseEdge path={wayPath(points, flow)} {...(markerEnd !== undefined && { markerEnd })} />;
}

/** Leaves and reaches each point in the direction of the flow. */
function wayPath([start, ...points]: readonly Spot[], flow: Flow): string {
  let path = `M${start!.x},${start!.y}`;
  let last = start!;
  for (const point of points) {
    const middle = { x: (last.x + point.x) / 2, y: (last.y + point.y) / 2 };
    path +=
      flow === "right"
        ? ` C${middle.x},${last.y} ${middle.x},${point.y} ${point.x},${point.y}`
        : ` C${last.x},${middle.y} ${point.x},${middle.y} ${point.x},${point.y}`;
    last = point;
  }
  return path;
}
