import { useState } from "react";
import { useDag } from "../api/queries.ts";
import { Panel } from "../panel/panel.tsx";
import type { DagView } from "../routing/route.ts";
import { changeView, dagPlace, goTo } from "../routing/use-route.ts";
import { TriggerDialog } from "../trigger/trigger-dialog.tsx";
import { Answer } from "../ui/answer.tsx";
import { useKeys } from "../ui/use-keys.ts";
import { DagHead } from "./dag-head.tsx";
import { DagWarnings } from "./dag-warnings.tsx";
import { GridPane } from "./grid-pane.tsx";
import { PauseDialog } from "./pause-dialog.tsx";

type Open = "trigger" | "pause" | null;

export function DagPage({ dagId, view }: { readonly dagId: string; readonly view: DagView }) {
  const query = useDag(dagId);
  const [open, setOpen] = useState<Open>(null);
  const close = (): void => setOpen(null);
  useKeys({
    t: () => setOpen("trigger"),
    Escape: () => changeView({ runId: null, taskId: null, mapIndex: null, tryNumber: null }),
  });
  return (
    <Answer query={query} what={dagId}>
      {(dag) => (
        <>
          <DagHead dag={dag} onTrigger={() => setOpen("trigger")} onPause={() => setOpen("pause")} />
          <DagWarnings dag={dag} />
          <div className={`dag-split${view.runId !== null || view.taskId !== null ? " picked" : ""}`}>
            <GridPane dag={dag} view={view} />
            <Panel dag={dag} view={view} />
          </div>
          {open === "trigger" && (
            <TriggerDialog
              dag={dag}
              onClose={close}
              onOpenRun={(runId) => {
                close();
                goTo(
                  dagPlace(dagId, {
                    ...view,
                    before: null,
                    runId,
                    taskId: null,
                    mapIndex: null,
                    tryNumber: null,
                  }),
                );
              }}
            />
          )}
          {open === "pause" && <PauseDialog dagId={dagId} onClose={close} />}
        </>
      )}
    </Answer>
  );
}
