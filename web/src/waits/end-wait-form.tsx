import { useEffect, useState } from "react";
import type { TryWait, WaitEnded } from "../../../api/contracts-waits.ts";
import type { JsonSchema } from "../../../core/params.ts";
import { ApiError } from "../../../remote/index.ts";
import type { TaskOf } from "../../../remote/tasks.ts";
import { DraftFields } from "../trigger/draft-fields.tsx";
import { Refusal } from "../trigger/refusal.tsx";
import { payloadShape } from "../trigger/shapes.ts";
import { useDraft } from "../trigger/use-draft.ts";
import { useDraftForm } from "../trigger/use-draft-form.ts";
import { Dialog, DialogFoot } from "../ui/dialog.tsx";
import { EndOf } from "./end-of.tsx";
import { useEndWait } from "./queries.ts";
import "../trigger/trigger.css";

export interface EndWaitProps {
  readonly of: TaskOf;
  /** `sign_off[2]` */
  readonly name: string;
  /** JSON Schema of what it may be ended with; null: anything. */
  readonly schema: JsonSchema | null;
  /** The wait as it stands by now; null: it has not begun. */
  readonly wait: TryWait | null;
  readonly onClose: () => void;
  readonly onEnded: (ended: WaitEnded) => void;
}

const WORDS = {
  fields: "Payload",
  json: "Payload",
  anyJson: "Any JSON, a text with its quotes; empty for null",
  fittingJson: "JSON that fits what the task waits for",
};

export function EndWaitForm({ of, name, schema, wait, onClose, onEnded }: EndWaitProps) {
  // The schema of the moment the dialog opened: what was typed stays.
  const [shape] = useState(() => payloadShape(schema));
  const draft = useDraft(shape);
  const end = useEndWait();
  const isOver = wait !== null && wait.state === "ended";
  const { form, fields, canSend, inFields, rest } = useDraftForm({
    draft,
    error: end.error,
    errors: end.error instanceof ApiError && end.error.is("bad_payload") ? end.error.details.errors : [],
    beside: null,
    blocked: isOver,
    pending: end.isPending,
    send: (payload, idempotencyKey) => end.mutate({ of, payload, idempotencyKey }, { onSuccess: onEnded }),
  });
  // The field, not the button that sends it: most waits want something.
  useEffect(() => {
    form.ref.current?.querySelector<HTMLElement>(":is(input, select, textarea):enabled")?.focus();
  }, []);
  return (
    <Dialog title={`End the wait of ${name}`} onClose={onClose}>
      <form {...form} className="form" noValidate>
        <p className="soft">
          {wait === null
            ? "The task has not begun to wait: it will go on at once when it would, with this payload."
            : "The task goes on at once, with this payload. Of several who end a wait the first one counts."}
        </p>
        <DraftFields {...fields} words={WORDS} />
        {isOver ? (
          <div className="error-block" role="alert">
            <p>
              It is over already: <EndOf wait={wait} />.
            </p>
          </div>
        ) : (
          end.error !== null && <Refusal said="Not ended" error={end.error} inFields={inFields} rest={rest} />
        )}
        <DialogFoot
          word={end.isPending ? "Ending …" : "End the wait"}
          onClose={onClose}
          disabled={!canSend}
        />
      </form>
    </Dialog>
  );
}
