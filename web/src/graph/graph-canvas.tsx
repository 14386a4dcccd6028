import {
  Background,
  MarkerType,
  Position,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  useStore,
  useStoreApi,
  type Edge,
  type NodeHandle,
} from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import { useCallback, useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import type { Graph } from "../../../api/contracts.ts";
import type { DagView } from "../routing/route.ts";
import { changeView } from "../routing/use-route.ts";
import { recall, remember } from "../ui/remembered.ts";
import { layOut, type Flow, type Layout } from "./layout.ts";
import { centresOf, neighbour, type Arrow } from "./moves.ts";
import {
  GraphLifeContext,
  GroupBox,
  TaskBox,
  type GraphLife,
  type GroupNode,
  type TaskNode,
} from "./nodes.tsx";
import type { ItemState } from "./states.ts";
import { groupKey, sightOf, taskKey } from "./tree.ts";
import { WayEdge } from "./way-edge.tsx";
import { ZoomButtons } from "./zoom-buttons.tsx";

/** React Flow dresses the type `group` by itself, so ours has another name. */
const NODE_TYPES = { task: TaskBox, tasks: GroupBox };
const EDGE_TYPES = { way: WayEdge };
const LEAST_ZOOM = 0.02;
/** Below this, words cannot be read, and nodes are blocks of colour. */
const FAR = 0.4;
/** Up to so many are all drawn, so that search within the page and screen readers find them. */
const DRAWN_AT_MOST = 150;
/** More of them from afar are a grey cloud that takes as long as the nodes. */
const EDGES_AFAR = 300;
const NO_EDGES: Edge[] = [];
/** From here on a graph is shown whole at first. */
const READABLE = 0.55;
const NEAR = 0.8;
const MARGIN = 24;
const ARROWS: ReadonlySet<string> = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]);

interface Props {
  readonly graph: Graph;
  /** With the run whose states are shown. */
  readonly view: DagView;
  readonly states: ReadonlyMap<string, ItemState> | null;
}

export function GraphCanvas(props: Props) {
  return (
    <ReactFlowProvider>
      <Canvas {...props} />
    </ReactFlowProvider>
  );
}

function pickedKey(view: DagView): string | null {
  if (view.taskId !== null) return taskKey(view.taskId);
  return view.groupId === null ? null : groupKey(view.groupId);
}

function pick(key: string, runId: string | null): void {
  const space = key.indexOf(" ");
  const id = key.slice(space + 1);
  const isTask = key.slice(0, space) === "task";
  changeView({
    runId,
    taskId: isTask ? id : null,
    groupId: isTask ? null : id,
    mapIndex: null,
    tryNumber: null,
  });
}

function Canvas({ graph, view, states }: Props) {
  const flow = useReactFlow();
  // By its text: each answer of the API is a new object, mostly the same graph.
  const shape = JSON.stringify([graph.groups, graph.tasks, graph.edges, view.folded]);
  const [direction, setDirection] = useState<Flow>(recall("flow") === "down" ? "down" : "right");
  const layout = useMemo(() => layOut(sightOf(graph, new Set(view.folded)), direction), [shape, direction]);
  const centres = useMemo(() => centresOf(layout.placed), [layout]);
  const picked = pickedKey(view);
  const nodes = useMemo(() => nodesOf(layout, direction), [layout, direction]);
  const edges = useMemo(() => edgesOf(layout, direction, picked), [layout, direction, picked]);
  const [focused, setFocused] = useState<string | null>(null);
  const [wanted, setWanted] = useState<string | null>(null);
  const far = useStore((store) => store.transform[2] < FAR);
  const find = view.tasks.toLowerCase();

  useFirstSight(layout, direction, centres, picked);
  useSought(layout, centres, find);

  const onFold = useCallback(
    (groupId: string) => {
      const { folded } = view;
      changeView({
        folded: folded.includes(groupId) ? folded.filter((id) => id !== groupId) : [...folded, groupId],
      });
    },
    [view],
  );
  const store = useStoreApi();
  const onFocus = useCallback(
    (key: string) => {
      setFocused(key);
      setWanted(null);
      const at = centres.get(key);
      const { transform, width, height } = store.getState();
      if (at === undefined) return;
      const [left, top, zoom] = transform;
      const [x, y] = [at.x * zoom + left, at.y * zoom + top];
      // Tab may lead to what is out of sight.
      if (x < 0 || y < 0 || x > width || y > height) void flow.setCenter(at.x, at.y, { zoom });
    },
    [centres, flow, store],
  );
  const entry = [focused, picked].find((key) => key !== null && centres.has(key)) ?? nodes[0]?.id ?? null;
  const { runId } = view;
  const onPick = useCallback((key: string) => pick(key, runId), [runId]);
  const life = useMemo<GraphLife>(
    () => ({ states, picked, flow: direction, entry, wanted, find, onPick, onFold, onFocus }),
    [onPick, states, picked, direction, entry, wanted, find, onFold, onFocus],
  );

  const onKeyDown = (event: KeyboardEvent<HTMLElement>): void => {
    const key = (event.target as HTMLElement).dataset["key"];
    if (key === undefined) return;
    if (event.key === " " && key.startsWith("group ")) {
      event.preventDefault();
      setWanted(key);
      onFold(key.slice("group ".length));
      return;
    }
    if (!ARROWS.has(event.key)) return;
    event.preventDefault();
    const next = neighbour(layout, centres, key, event.key as Arrow, direction);
    if (next === null) return;
    setWanted(next);
    const { x, y } = centres.get(next)!;
    void flow.setCenter(x, y, { zoom: Math.max(FAR, flow.getZoom()) });
  };

  return (
    <GraphLifeContext value={life}>
      <div className={`graph-canvas${far ? " far" : ""}`} onKeyDown={onKeyDown}>
        <ReactFlow
          nodes={nodes}
          edges={far && edges.length > EDGES_AFAR ? NO_EDGES : edges}
          nodeTypes={NODE_TYPES}
          edgeTypes={EDGE_TYPES}
          minZoom={LEAST_ZOOM}
          maxZoom={1.6}
          onlyRenderVisibleElements={nodes.length > DRAWN_AT_MOST}
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          edgesFocusable={false}
          elementsSelectable={false}
          zoomOnDoubleClick={false}
          panOnScroll
          zIndexMode="manual"
          proOptions={{ hideAttribution: true }}
        >
          <Background gap={24} />
        </ReactFlow>
        <ZoomButtons
          flow={direction}
          onFlow={(next) => {
            remember("flow", next);
            setDirection(next);
          }}
        />
      </div>
    </GraphLifeContext>
  );
}

/** The whole picture if it can be read so; else its beginning, or what is picked. Anew when the flow turns. */
function useFirstSight(
  layout: Layout,
  direction: Flow,
  centres: ReadonlyMap<string, { readonly x: number; readonly y: number }>,
  picked: string | null,
): void {
  const flow = useReactFlow();
  const width = useStore((store) => store.width);
  const height = useStore((store) => store.height);
  const seen = useRef<Flow | null>(null);
  useEffect(() => {
    if (width === 0 || height === 0 || seen.current === direction) return;
    seen.current = direction;
    const fits = Math.min(1, width / (layout.width + 2 * MARGIN), height / (layout.height + 2 * MARGIN));
    if (fits >= READABLE) {
      const x = (width - layout.width * fits) / 2;
      const y = (height - layout.height * fits) / 2;
      void flow.setViewport({ x, y, zoom: fits });
      return;
    }
    const zoom = NEAR;
    const first = picked === null ? undefined : centres.get(picked);
    const root = layout.placed.find(({ item }) => item.kind === "task") ?? layout.placed[0]!;
    const start = centres.get(root.item.key)!;
    if (first !== undefined) void flow.setCenter(first.x, first.y, { zoom });
    else if (direction === "right")
      void flow.setViewport({ x: MARGIN, y: height / 2 - start.y * zoom, zoom });
    else void flow.setViewport({ x: width / 2 - start.x * zoom, y: MARGIN, zoom });
  });
}

/** Goes to the first task that was searched for. */
function useSought(
  layout: Layout,
  centres: ReadonlyMap<string, { readonly x: number; readonly y: number }>,
  find: string,
): void {
  const flow = useReactFlow();
  const sought = useRef(find);
  useEffect(() => {
    if (find === sought.current) return;
    sought.current = find;
    if (find === "") return;
    const found = layout.placed.find(({ item }) => `${item.id} ${item.label}`.toLowerCase().includes(find));
    if (found === undefined) return;
    const { x, y } = centres.get(found.item.key)!;
    void flow.setCenter(x, y, { zoom: Math.max(0.8, flow.getZoom()) });
  }, [find, layout, centres, flow]);
}

/** Sizes and ends are told: else React Flow draws each node once to measure it, 1,000 of them for seconds. */
function nodesOf({ placed }: Layout, flow: Flow): (TaskNode | GroupNode)[] {
  return placed.map(({ item, x, y, width, height }) => {
    const base = {
      id: item.key,
      position: { x, y },
      width,
      height,
      measured: { width, height },
      handles: endsOf(width, height, flow),
      ...(item.parent !== null && { parentId: item.parent }),
    };
    return item.kind === "task"
      ? { ...base, type: "task", data: { item }, zIndex: 10 }
      : { ...base, type: "tasks", data: { item }, zIndex: -1 };
  });
}

/** Where edges end and begin. */
function endsOf(width: number, height: number, flow: Flow): NodeHandle[] {
  const size = { width: 1, height: 1 };
  return flow === "right"
    ? [
        { ...size, type: "target", position: Position.Left, x: 0, y: height / 2 },
        { ...size, type: "source", position: Position.Right, x: width - 1, y: height / 2 },
      ]
    : [
        { ...size, type: "target", position: Position.Top, x: width / 2, y: 0 },
        { ...size, type: "source", position: Position.Bottom, x: width / 2, y: height - 1 },
      ];
}

function edgesOf({ links }: Layout, flow: Flow, picked: string | null): Edge[] {
  return links.map(({ from, to, way }) => {
    const lit = from === picked || to === picked;
    return {
      id: `${from} → ${to}`,
      source: from,
      target: to,
      ...(way.length > 0 && { type: "way", data: { way, flow } }),
      className: lit ? "lit" : "",
      zIndex: lit ? 1 : 0,
      markerEnd: {
        type: MarkerType.ArrowClosed,
        width: 16,
        height: 16,
        color: lit ? "var(--accent)" : "var(--line-strong)",
      },
    };
  });
}
