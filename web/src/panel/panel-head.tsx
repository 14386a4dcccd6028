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
