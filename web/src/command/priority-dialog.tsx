import { useState } from "react";
import { Dialog, DialogFoot } from "../ui/dialog.tsx";
import { usePriority } from "./wishes.ts";

const MOST = 1_000_000;

interface Props {
  readonly dagId: string;
  readonly runId: string;
  /** As it is now. */
  readonly priority: number;
  readonly onClose: () => void;
}

/** Moves what a run waits with, its place and its tries, before or behind others. */
export function PriorityDialog({ dagId, runId, priority, onClose }: Props) {
  const [text, setText] = useState(String(priority));
  const move = usePriority(dagId, runId);
  const wish = /^-?\d{1,7}$/.test(text.trim()) ? Number(text) : null;
  const fits = wish !== null && Math.abs(wish) <= MOST;
  return (
    <Dialog title={`Priority of run ${runId}`} onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (wish !== null && fits) move.mutate(wish, { onSuccess: onClose });
        }}
      >
        <label>
          Priority
          <input
            className="field"
            data-first
            inputMode="numeric"
            autoComplete="off"
            aria-invalid={!fits}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          {fits ? (
            <span className="help">
              Added to what its place and its tries ask with, now and later; 0: as it was made
            </span>
          ) : (
            <span className="wrong" role="status">
              A whole number from -1,000,000 to 1,000,000
            </span>
          )}
        </label>
        {move.error !== null && (
          <p className="wrong" role="alert">
            {move.error.message}
          </p>
        )}
        <DialogFoot word="Move the run" onClose={onClose} disabled={!fits || move.isPending} />
      </form>
    </Dialog>
  );
}
