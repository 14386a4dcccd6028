import {
  Background,
  MarkerType,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  useStore,
  type Edge,
} from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import { useCallback, useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import type { Graph } from "../../../api/contracts.ts";
import type { DagView } from "../routing/route.ts";
import { changeView } from "../routing/use-route.ts";
import { layOut, type Layout } from "./layout.ts";
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
import { ZoomButtons } from "./zoom-buttons.tsx";

const NODE_TYPES = { task: TaskBox, group: GroupBox };
const LEAST_ZOOM = 0.02;
/** Below this, words cannot be read, and nodes are blocks of colour. */
const FAR = 0.4;
const ARROWS: ReadonlySet<string> = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]);

interface Props {
  readonly graph: Graph;
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

function pick(key: string): void {
  const space = key.indexOf(" ");
  const id = key.slice(space + 1);
  const isTask = key.slice(0, space) === "task";
  changeView({ taskId: isTask ? id : null, groupId: isTask ? null : id, mapIndex: null, tryNumber: null });
}

function Canvas({ graph, view, states }: Props) {
  const flow = useReactFlow();
  // By its text: each answer of the API is a new object, mostly the same graph.
  const shape = JSON.stringify([graph.groups, graph.tasks, graph.edges, view.folded]);
  const layout = useMemo(() => layOut(sightOf(graph, new Set(view.folded))), [shape]);
  const centres = useMemo(() => centresOf(layout.placed), [layout]);
  const picked = pickedKey(view);
  const nodes = useMemo(() => nodesOf(layout), [layout]);
  const edges = useMemo(() => edgesOf(layout, picked), [layout, picked]);
  const [focused, setFocused] = useState<string | null>(null);
  const [wanted, setWanted] = useState<string | null>(null);
  const far = useStore((store) => store.transform[2] < FAR);
  const find = view.tasks.toLowerCase();

  const seeFirst = useFirstSight(layout, centres, picked);
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
  const onFocus = useCallback((key: string) => {
    setFocused(key);
    setWanted(null);
  }, []);
  const entry = [focused, picked].find((key) => key !== null && centres.has(key)) ?? nodes[0]?.id ?? null;
  const life = useMemo<GraphLife>(
    () => ({ states, picked, entry, wanted, find, onPick: pick, onFold, onFocus }),
    [states, picked, entry, wanted, find, onFold, onFocus],
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
    const next = neighbour(layout, centres, key, event.key as Arrow);
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
          edges={edges}
          nodeTypes={NODE_TYPES}
          onInit={seeFirst}
          minZoom={LEAST_ZOOM}
          maxZoom={1.6}
          onlyRenderVisibleElements
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          edgesFocusable={false}
          elementsSelectable={false}
          zoomOnDoubleClick={false}
          panOnScroll
          proOptions={{ hideAttribution: true }}
        >
          <Background gap={24} />
        </ReactFlow>
        <ZoomButtons />
      </div>
    </GraphLifeContext>
  );
}

/** The whole picture if it can be read so; else its beginning, or what is picked. */
function useFirstSight(
  layout: Layout,
  centres: ReadonlyMap<string, { readonly x: number; readonly y: number }>,
  picked: string | null,
): () => void {
  const flow = useReactFlow();
  const width = useStore((store) => store.width);
  const height = useStore((store) => store.height);
  const done = useRef(false);
  const see = (): void => {
    if (width === 0 || height === 0) return;
    const fits = Math.min(width / (layout.width + 48), height / (layout.height + 48));
    if (fits >= FAR) {
      const zoom = Math.min(1, fits);
      const x = (width - layout.width * zoom) / 2;
      const y = (height - layout.height * zoom) / 2;
      void flow.setViewport({ x, y, zoom });
      return;
    }
    const first = picked === null ? undefined : centres.get(picked);
    const start = centres.get(layout.placed[0]!.item.key)!;
    if (first !== undefined) void flow.setCenter(first.x, first.y, { zoom: 0.8 });
    else void flow.setViewport({ x: 24 - (start.x - 104) * 0.7, y: height / 2 - start.y * 0.7, zoom: 0.7 });
  };
  useEffect(() => {
    if (width === 0 || height === 0 || done.current) return;
    done.current = true;
    see();
  });
  return see;
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

function nodesOf({ placed }: Layout): (TaskNode | GroupNode)[] {
  return placed.map(({ item, x, y, width, height }) => {
    const base = {
      id: item.key,
      position: { x, y },
      width,
      height,
      ...(item.parent !== null && { parentId: item.parent }),
    };
    return item.kind === "task"
      ? { ...base, type: "task", data: { item } }
      : { ...base, type: "group", data: { item }, zIndex: -1 };
  });
}

function edgesOf({ links }: Layout, picked: string | null): Edge[] {
  return links.map(({ from, to }) => {
    const lit = from === picked || to === picked;
    return {
      id: `${from} → ${to}`,
      source: from,
      target: to,
      className: lit ? "lit" : "",
      zIndex: lit ? 2 : 1,
      markerEnd: {
        type: MarkerType.ArrowClosed,
        width: 16,
        height: 16,
        color: lit ? "var(--accent)" : "var(--line-strong)",
      },
    };
  });
}
