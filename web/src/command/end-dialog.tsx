import { useState } from "react";
import { Choice } from "../ui/choice.tsx";
import { Dialog, DialogFoot } from "../ui/dialog.tsx";
import { useEnd } from "./wishes.ts";

interface Props {
  readonly dagId: string;
  readonly runId: string;
  readonly onClose: () => void;
}

const AS = ["cancelled", "failed"] as const;

export function EndDialog({ dagId, runId, onClose }: Props) {
  const [as, setAs] = useState<(typeof AS)[number]>("cancelled");
  const [reason, setReason] = useState("");
  const end = useEnd(dagId, runId);
  return (
    <Dialog title={`End run ${runId}`} onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          end.mutate({ as, reason: reason.trim() }, { onSuccess: onClose });
        }}
      >
        <p className="soft">
          What runs is stopped, what has not begun never will. Teardowns whose setups succeeded still run.
        </p>
        <Choice label="End it as" values={AS} chosen={as} onChoose={setAs}>
          {(one) => one}
        </Choice>
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
        {end.error !== null && (
          <p className="wrong" role="alert">
            {end.error.message}
          </p>
        )}
        <DialogFoot word="End the run" onClose={onClose} disabled={end.isPending} />
      </form>
    </Dialog>
  );
}
