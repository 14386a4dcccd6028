import { Link } from "../routing/link.tsx";
import { VIEWS, type DagView, type ViewName } from "../routing/route.ts";
import { dagPlace } from "../routing/use-route.ts";

const VIEW_WORD: Record<ViewName, string> = {
  grid: "Grid",
  graph: "Graph",
  gantt: "Gantt",
  code: "Code",
  details: "Details",
};

/** Ways to look at the DAG; what is selected stays selected. */
export function ViewTabs({ dagId, view }: { readonly dagId: string; readonly view: DagView }) {
  return (
    <nav className="tabs view-tabs" aria-label="Views">
      {VIEWS.map((show, at) => (
        <Link
          key={show}
          to={dagPlace(dagId, { ...view, show })}
          title={`${VIEW_WORD[show]} (${at + 1})`}
          {...(show === view.show && { "aria-current": "page" as const })}
        >
          {VIEW_WORD[show]}
        </Link>
      ))}
    </nav>
  );
}
