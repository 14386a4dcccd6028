import { Suspense, lazy, useState, type ReactNode } from "react";
import type { DagDetail } from "../../../api/contracts.ts";
import { useDag } from "../api/queries.ts";
import { Panel } from "../panel/panel.tsx";
import { NO_PICK, VIEWS, type DagView } from "../routing/route.ts";
import { changeView, dagPlace, goTo } from "../routing/use-route.ts";
import { TriggerDialog } from "../trigger/trigger-dialog.tsx";
import { Answer } from "../ui/answer.tsx";
import { Loading } from "../ui/notice.tsx";
import { useKeys } from "../ui/use-keys.ts";
import { DagHead } from "./dag-head.tsx";
import { DagWarnings } from "./dag-warnings.tsx";
import { GridPane } from "./grid-pane.tsx";
import { PauseDialog } from "./pause-dialog.tsx";
import { ViewTabs } from "./view-tabs.tsx";

// The grid is what most come for: it alone is in the first load.
const GraphView = lazy(async () => ({ default: (await import("../graph/graph-view.tsx")).GraphView }));
const GanttView = lazy(async () => ({ default: (await import("../gantt/gantt-view.tsx")).GanttView }));
const CodeView = lazy(async () => ({ default: (await import("../code/code-view.tsx")).CodeView }));

type Open = "trigger" | "pause" | null;

export function DagPage({ dagId, view }: { readonly dagId: string; readonly view: DagView }) {
  const query = useDag(dagId);
  const [open, setOpen] = useState<Open>(null);
  const close = (): void => setOpen(null);
  useKeys({
    t: () => {
      if (query.data?.active !== false) setOpen("trigger");
    },
    Escape: () => changeView(view.show === "details" ? { show: "grid" } : NO_PICK),
    ...Object.fromEntries(VIEWS.map((show, at) => [String(at + 1), () => changeView({ show })])),
  });
  return (
    <Answer query={query} what={dagId}>
      {(dag) => (
        <>
          <DagHead dag={dag} onTrigger={() => setOpen("trigger")} onPause={() => setOpen("pause")} />
          <DagWarnings dag={dag} />
          <ViewTabs dagId={dagId} view={view} />
          <div className={`dag-split${view.runId !== null || view.taskId !== null ? " picked" : ""}`}>
            <Suspense fallback={<Loading what={view.show} />}>{paneOf(dag, view)}</Suspense>
            {view.show !== "code" && <Panel dag={dag} view={view} />}
          </div>
          {open === "trigger" && (
            <TriggerDialog
              dag={dag}
              onClose={close}
              onOpenRun={(runId) => {
                close();
                goTo(dagPlace(dagId, { ...view, ...NO_PICK, before: null, runId }));
              }}
            />
          )}
          {open === "pause" && <PauseDialog dagId={dagId} onClose={close} />}
        </>
      )}
    </Answer>
  );
}

/** What stands beside the details; null: they have the whole page. */
function paneOf(dag: DagDetail, view: DagView): ReactNode {
  switch (view.show) {
    case "grid":
      return <GridPane dag={dag} view={view} />;
    case "graph":
      return <GraphView dag={dag} view={view} />;
    case "gantt":
      return <GanttView dag={dag} view={view} />;
    case "code":
      return <CodeView dag={dag} view={view} />;
    case "details":
      return null;
  }
}
