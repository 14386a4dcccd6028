import type { DagDetail } from "../../../api/contracts.ts";
import { SPANS, type DagView } from "../routing/route.ts";
import { changeView } from "../routing/use-route.ts";
import { Choice } from "../ui/choice.tsx";
import { TaskSearch } from "./task-search.tsx";

interface Props {
  readonly dag: DagDetail;
  readonly view: DagView;
  readonly hasOlder: boolean;
  readonly onOlder: () => void;
}

/** Above the grid: which tasks, how dense the runs stand, and how far back. */
export function GridTools({ dag, view, hasOlder, onOlder }: Props) {
  return (
    <div className="grid-tools">
      <TaskSearch says="Filter tasks" value={view.tasks} />
      <Choice
        label="Runs shown"
        values={SPANS}
        chosen={view.span}
        onChoose={(span) => changeView({ span }, true)}
      >
        {(span) => (
          <>
            <span className="number">{span}</span>
            <span className="visually-hidden"> runs</span>
          </>
        )}
      </Choice>
      <span className="soft small">runs</span>
      <FoldAll dag={dag} view={view} />
      <span className="gap" />
      <button type="button" className="button" disabled={!hasOlder} onClick={onOlder}>
        <span aria-hidden="true">←</span> Older
      </button>
      <button
        type="button"
        className="button"
        disabled={view.before === null}
        onClick={() => changeView({ before: null })}
      >
        Newest <span aria-hidden="true">⇥</span>
      </button>
    </div>
  );
}

function FoldAll({ dag, view }: Pick<Props, "dag" | "view">) {
  const groups = dag.graph?.groups.map((group) => group.id) ?? [];
  if (groups.length === 0) return null;
  const all = groups.every((group) => view.folded.includes(group));
  return (
    <button
      type="button"
      className="button"
      aria-pressed={all}
      onClick={() => changeView({ folded: all ? [] : groups }, true)}
    >
      {all ? "Unfold groups" : "Fold groups"}
    </button>
  );
}
