import { Suspense, lazy, useState } from "react";
import type { Action, CellsOf, VersionNumbers } from "./wishes.ts";

// Not part of the first load: most who look change nothing.
const CommandDialog = lazy(async () => ({ default: (await import("./command-dialog.tsx")).CommandDialog }));
const EndDialog = lazy(async () => ({ default: (await import("./end-dialog.tsx")).EndDialog }));
const PriorityDialog = lazy(async () => ({
  default: (await import("./priority-dialog.tsx")).PriorityDialog,
}));

interface Props {
  readonly of: CellsOf;
  readonly about: string;
  /** Null: the run has the version that is in force. */
  readonly versions: VersionNumbers | null;
  /** Of a run that is under way, when this is about all of it: what it was given by hand. */
  readonly priority?: number | null;
}

/** What can be done with tasks of a run. */
export function CommandButtons({ of, about, versions, priority = null }: Props) {
  const [open, setOpen] = useState<Action | "end" | "priority" | null>(null);
  const close = (): void => setOpen(null);
  return (
    <div className="command-buttons">
      <button type="button" className="button" onClick={() => setOpen("clear")}>
        Run again …
      </button>
      <button type="button" className="button" onClick={() => setOpen("success")}>
        Mark …
      </button>
      {priority !== null && (
        <>
          <button type="button" className="button" onClick={() => setOpen("priority")}>
            Priority …
          </button>
          <button type="button" className="button" onClick={() => setOpen("end")}>
            End …
          </button>
        </>
      )}
      <Suspense fallback={null}>
        {open === "end" && <EndDialog dagId={of.dagId} runId={of.runId} onClose={close} />}
        {open === "priority" && (
          <PriorityDialog dagId={of.dagId} runId={of.runId} priority={priority ?? 0} onClose={close} />
        )}
        {open !== null && open !== "end" && open !== "priority" && (
          <CommandDialog of={of} about={about} versions={versions} start={open} onClose={close} />
        )}
      </Suspense>
    </div>
  );
}
