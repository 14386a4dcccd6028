import type { ReactNode } from "react";
import { Link } from "../routing/link.tsx";
import { dagPlace } from "../routing/use-route.ts";
import { NO_PICK, type DagView } from "../routing/route.ts";

interface Props {
  readonly dagId: string;
  readonly view?: DagView;
  readonly title: ReactNode;
  readonly children?: ReactNode;
}

/** Title of the panel, with the way back to the whole DAG when something is selected. */
export function PanelHead({ dagId, view, title, children }: Props) {
  return (
    <header className="panel-head">
      <h2>{title}</h2>
      {children}
      {view !== undefined && (
        <Link
          to={dagPlace(dagId, { ...view, show: view.show === "details" ? "grid" : "details" })}
          className="button plain close"
          aria-label={view.show === "details" ? "Back beside the grid" : "Open at full width"}
          title={view.show === "details" ? "Beside the grid (1)" : "At full width (5)"}
        >
          {view.show === "details" ? "⇥" : "⤢"}
        </Link>
      )}
      {view !== undefined && (
        <Link
          to={dagPlace(dagId, { ...view, ...NO_PICK })}
          className="button plain close"
          aria-label="Close details"
          title="Close (Esc)"
        >
          ✕
        </Link>
      )}
    </header>
  );
}
