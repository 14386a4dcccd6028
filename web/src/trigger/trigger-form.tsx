import { useState } from "react";
import type { DagDetail } from "../../../api/contracts.ts";
import { ApiError } from "../../../remote/index.ts";
import { useTrigger } from "../api/changes.ts";
import { formatInstant, formatOffset, parseTyped } from "../time/format.ts";
import { useZone } from "../time/zone.tsx";
import { Dialog, DialogFoot } from "../ui/dialog.tsx";
import { DraftFields } from "./draft-fields.tsx";
import { Refusal } from "./refusal.tsx";
import { confShape } from "./shapes.ts";
import { useDraft } from "./use-draft.ts";
import { useDraftForm } from "./use-draft-form.ts";
import "./trigger.css";

export interface TriggerProps {
  readonly dag: DagDetail;
  readonly onClose: () => void;
  readonly onOpenRun: (runId: string) => void;
}

const WORDS = {
  fields: "Params",
  json: "Conf",
  anyJson: "A JSON object the tasks read as their conf; empty for none",
  fittingJson: "A JSON object that fits the DAG's params; what is left out takes its default",
};

export function TriggerForm({ dag, onClose, onOpenRun }: TriggerProps) {
  const { zone } = useZone();
  const [date, setDate] = useState("");
  // The params of the moment the dialog opened: a new version must not wipe what was typed.
  const [shape] = useState(() => confShape(dag.graph?.params ?? null));
  const draft = useDraft(shape);
  const trigger = useTrigger();
  const when = date.trim() === "" ? null : parseTyped(date, zone);
  const errors = paramErrorsOf(trigger.error);
  const { form, fields, canSend, inFields, rest } = useDraftForm({
    draft,
    error: trigger.error,
    errors,
    beside: when?.kind === "instant" ? when.at : null,
    blocked: when !== null && when.kind !== "instant",
    pending: trigger.isPending,
    send: (conf, idempotencyKey) =>
      trigger.mutate(
        {
          dagId: dag.dagId,
          conf: conf as Readonly<Record<string, unknown>>,
          idempotencyKey,
          ...(when?.kind === "instant" && { logicalDate: new Date(when.at).toISOString() }),
        },
        { onSuccess: (run) => onOpenRun(run.runId) },
      ),
  });

  return (
    <Dialog title={`Trigger ${dag.dagId}`} onClose={onClose}>
      <form {...form} className="form" noValidate>
        <label>
          Logical date
          <input
            className="field"
            data-first
            spellCheck={false}
            autoComplete="off"
            placeholder={`${formatInstant(Date.now(), zone, false).slice(0, 10)} 00:00`}
            aria-invalid={when !== null && when.kind !== "instant"}
            value={date}
            onChange={(event) => {
              setDate(event.target.value);
              // What was refused is another wish; what is wrong with the params stays at its fields.
              if (errors.length === 0) trigger.reset();
            }}
          />
          <DateHelp when={when} zone={zone} />
        </label>
        <DraftFields {...fields} words={WORDS} />
        {dag.paused && (
          <p className="help">The DAG is paused; a run triggered by hand starts all the same.</p>
        )}
        {trigger.error !== null && (
          <TriggerError error={trigger.error} inFields={inFields} rest={rest} onOpenRun={onOpenRun} />
        )}
        <DialogFoot
          word={trigger.isPending ? "Triggering …" : "Trigger"}
          onClose={onClose}
          disabled={!canSend}
        />
      </form>
    </Dialog>
  );
}

function DateHelp({
  when,
  zone,
}: {
  readonly when: ReturnType<typeof parseTyped> | null;
  readonly zone: string;
}) {
  if (when === null)
    return <span className="help">A day, with a time if you like, in {zone}; empty means now</span>;
  if (when.kind === "gap")
    return <span className="wrong">The clocks of {zone} leave this time out; pick another</span>;
  if (when.kind === "unreadable")
    return <span className="wrong">Not a date: write it like 2026-05-09 or 2026-05-09 14:30</span>;
  const twice = when.twice ? `, the first of two (${formatOffset(when.at, zone)})` : "";
  return (
    <span className="help">
      {formatInstant(when.at, zone)} {zone}
      {twice}
      {zone === "UTC" ? "" : `, which is ${formatInstant(when.at, "UTC")} UTC`}
    </span>
  );
}

const paramErrorsOf = (error: Error | null): readonly { path: string; message: string }[] =>
  error instanceof ApiError && error.is("bad_params") ? error.details.errors : [];

function TriggerError({
  error,
  inFields,
  rest,
  onOpenRun,
}: {
  readonly error: Error;
  readonly inFields: boolean;
  readonly rest: readonly string[];
  readonly onOpenRun: (runId: string) => void;
}) {
  const existing = error instanceof ApiError && error.is("run_exists") ? error.details.runId : undefined;
  return (
    <Refusal said="Not triggered" error={error} inFields={inFields} rest={rest}>
      {existing !== undefined && (
        <button type="button" className="as-link link" onClick={() => onOpenRun(existing)}>
          Open the run {existing}
        </button>
      )}
    </Refusal>
  );
}
