/** The two kinds of nodes. What moves (states, what is picked) comes by context, so that it never lays anything out anew. */
import type { Node, NodeProps } from "@xyflow/react";
import { createContext, memo, useContext, useEffect, useRef } from "react";
import { StateWord, Mark } from "../states/state-mark.tsx";
import { TASK_LOOK } from "../states/tables.ts";
import { FoldButton } from "../ui/fold-button.tsx";
import type { Flow } from "./layout.ts";
import { tallyOf, type ItemState } from "./states.ts";
import type { GroupItem, TaskItem } from "./tree.ts";

export interface GraphLife {
  /** By task id; null: no run is looked at. */
  readonly states: ReadonlyMap<string, ItemState> | null;
  /** Key of what the details show. */
  readonly picked: string | null;
  readonly flow: Flow;
  /** Key of the node that Tab reaches. */
  readonly entry: string | null;
  /** Key of the node that takes the focus once it is drawn. */
  readonly wanted: string | null;
  /** Lower case; what does not contain it stands back. */
  readonly find: string;
  readonly onPick: (key: string) => void;
  readonly onFold: (groupId: string) => void;
  readonly onFocus: (key: string) => void;
}

export const GraphLifeContext = createContext<GraphLife>({
  states: null,
  picked: null,
  flow: "right",
  entry: null,
  wanted: null,
  find: "",
  onPick: () => undefined,
  onFold: () => undefined,
  onFocus: () => undefined,
});

export type TaskNode = Node<{ readonly item: TaskItem }, "task">;
export type GroupNode = Node<{ readonly item: GroupItem }, "tasks">;

/** Roving focus: Tab reaches one node, arrows go on from there. */
function useNodeButton(key: string) {
  const life = useContext(GraphLifeContext);
  const ref = useRef<HTMLButtonElement>(null);
  const wanted = life.wanted === key;
  useEffect(() => {
    if (wanted) ref.current?.focus({ preventScroll: true });
  }, [wanted]);
  return {
    life,
    button: {
      ref,
      type: "button" as const,
      tabIndex: life.entry === key ? 0 : -1,
      "data-key": key,
      "aria-pressed": life.picked === key,
      onClick: () => life.onPick(key),
      onFocus: () => life.onFocus(key),
    },
  };
}

/** Where edges end and begin, as React Flow looks for it; its own component would cost more than the node. */
function Ends({ flow }: { readonly flow: Flow }) {
  const [from, to] = flow === "right" ? ["left", "right"] : ["top", "bottom"];
  return (
    <>
      <span className={`end target ${from}`} data-handlepos={from} />
      <span className={`end source ${to}`} data-handlepos={to} />
    </>
  );
}

export const TaskBox = memo(function TaskBox({ data: { item } }: NodeProps<TaskNode>) {
  const { life, button } = useNodeButton(item.key);
  const found = life.states?.get(item.id) ?? { state: "none" as const, count: 1 };
  const look = TASK_LOOK[found.state];
  const count = found.count === 1 ? "" : ` × ${found.count}`;
  const faded = life.find !== "" && !`${item.id} ${item.label}`.toLowerCase().includes(life.find);
  return (
    <>
      <button
        {...button}
        className={`task-box${life.states === null ? "" : ` tone-${look.tone}`}${faded ? " faded" : ""}`}
        title={item.label === item.id ? item.id : `${item.label} (${item.id})`}
      >
        <span className="visually-hidden">Task </span>
        <span className="name">{item.label}</span>
        {life.states !== null && (
          <span className="state small">
            <StateWord look={look} />
            {count}
          </span>
        )}
      </button>
      <Ends flow={life.flow} />
    </>
  );
});

export const GroupBox = memo(function GroupBox({ data: { item } }: NodeProps<GroupNode>) {
  const { life, button } = useNodeButton(item.key);
  const tally = life.states === null ? [] : tallyOf(item.taskIds, life.states);
  const inWords = tally.map(([state, count]) => `${count} ${TASK_LOOK[state].word}`).join(", ");
  const faded = life.find !== "" && !`${item.id} ${item.label}`.toLowerCase().includes(life.find);
  const count = `${item.taskIds.length} ${item.taskIds.length === 1 ? "task" : "tasks"}`;
  return (
    <>
      <div className={`group-box ${item.folded ? "folded" : "open"}${faded ? " faded" : ""}`}>
        <div className="group-head">
          <FoldButton folded={item.folded} label={item.label} onFold={() => life.onFold(item.id)} />
          <button
            {...button}
            className="group-name"
            aria-label={`Group ${item.label}, ${item.folded ? "folded, " : ""}${count}${inWords === "" ? "" : `: ${inWords}`}`}
            title={item.label === item.id ? item.id : `${item.label} (${item.id})`}
          >
            <span className="name">{item.label}</span>
          </button>
          {!item.folded && <span className="soft small">{count}</span>}
        </div>
        {item.folded && (
          <div className="group-tally small" aria-hidden="true">
            {tally.length === 0 && <span className="soft">{count}</span>}
            {tally.slice(0, 4).map(([state, of]) => (
              <span key={state} className="state-word" title={TASK_LOOK[state].word}>
                <Mark look={TASK_LOOK[state]} />
                <span className="number">{of}</span>
              </span>
            ))}
            {tally.length > 4 && <span className="soft">…</span>}
          </div>
        )}
      </div>
      <Ends flow={life.flow} />
    </>
  );
});
