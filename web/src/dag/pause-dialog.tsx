import { useState } from "react";
import { usePause } from "../api/changes.ts";
import { Dialog, DialogFoot } from "../ui/dialog.tsx";

export function PauseDialog({ dagId, onClose }: { readonly dagId: string; readonly onClose: () => void }) {
  const [reason, setReason] = useState("");
  const pause = usePause();
  return (
    <Dialog title={`Pause ${dagId}`} onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          pause.mutate({ dagId, paused: true, reason: reason.trim() }, { onSuccess: onClose });
        }}
      >
        <p className="soft">No scheduled run starts while it is paused. Runs under way go on.</p>
        <label>
          Reason
          <input
            className="field"
            data-first
            maxLength={500}
            placeholder="Optional; others see it"
            value={reason}
            onChange={(event) => setReason(event.target.value)}
          />
        </label>
        {pause.error !== null && (
          <p className="wrong" role="alert">
            {pause.error.message}
          </p>
        )}
        <DialogFoot word="Pause" onClose={onClose} disabled={pause.isPending} />
      </form>
    </Dialog>
  );
}
