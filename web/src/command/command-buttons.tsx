import { Suspense, lazy, useState } from "react";
import type { Action, CellsOf, VersionNumbers } from "./wishes.ts";

// Not part of the first load: most who look change nothing.
const CommandDialog = lazy(async () => ({ default: (await import("./command-dialog.tsx")).CommandDialog }));
const EndDialog = lazy(async () => ({ default: (await import("./end-dialog.tsx")).EndDialog }));

interface Props {
  readonly of: CellsOf;
  readonly about: string;
  /** Null: the run has the version that is in force. */
  readonly versions: VersionNumbers | null;
  /** The run is under way, and this is about all of it. */
  readonly canEnd?: boolean;
}

/** What can be done with tasks of a run. */
export function CommandButtons({ of, about, versions, canEnd = false }: Props) {
  const [open, setOpen] = useState<Action | "end" | null>(null);
  const close = (): void => setOpen(null);
  return (
    <div className="command-buttons">
      <button type="button" className="button" onClick={() => setOpen("clear")}>
        Run again …
      </button>
      <button type="button" className="button" onClick={() => setOpen("success")}>
        Mark …
      </button>
      {canEnd && (
        <button type="button" className="button" onClick={() => setOpen("end")}>
          End …
        </button>
      )}
      <Suspense fallback={null}>
        {open === "end" && <EndDialog dagId={of.dagId} runId={of.runId} onClose={close} />}
        {open !== null && open !== "end" && (
          <CommandDialog of={of} about={about} versions={versions} start={open} onClose={close} />
        )}
      </Suspense>
    </div>
  );
}
