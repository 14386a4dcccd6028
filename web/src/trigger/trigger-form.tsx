import { useEffect, useRef, useState, type FormEvent, type KeyboardEvent } from "react";
import type { DagDetail } from "../../../api/contracts.ts";
import { newKey } from "../../../remote/http.ts";
import { ApiError } from "../../../remote/index.ts";
import { useTrigger } from "../api/changes.ts";
import { formatInstant, formatOffset, parseTyped } from "../time/format.ts";
import { useZone } from "../time/zone.tsx";
import { Dialog, DialogFoot } from "../ui/dialog.tsx";
import { ConfFields } from "./conf-fields.tsx";
import { useConf } from "./use-conf.ts";
import { errorsByField } from "./values.ts";
import "./trigger.css";

export interface TriggerProps {
  readonly dag: DagDetail;
  readonly onClose: () => void;
  readonly onOpenRun: (runId: string) => void;
}

export function TriggerForm({ dag, onClose, onOpenRun }: TriggerProps) {
  const { zone } = useZone();
  const [date, setDate] = useState("");
  // The params of the moment the dialog opened: a new version must not wipe what was typed.
  const [params] = useState(dag.graph?.params ?? null);
  const draft = useConf(params);
  const [strict, setStrict] = useState(false);
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  // One wish, one key: pressing the button again after a lost answer makes no second run.
  const [wish, setWish] = useState({ text: "", key: newKey() });
  const trigger = useTrigger();
  const form = useRef<HTMLFormElement>(null);
  const when = date.trim() === "" ? null : parseTyped(date, zone);
  // In the form all that is missing is said when someone presses the button.
  const ready = (draft.mode === "form" || draft.conf !== null) && (when === null || when.kind === "instant");
  const { byField, rest } = errorsByField(draft.fields ?? [], paramErrorsOf(trigger.error));

  const focusField = (name: string | undefined): void =>
    form.current
      ?.querySelector<HTMLElement>(
        `[data-field=${JSON.stringify(name ?? "")}] :is(input, select, textarea):enabled`,
      )
      ?.focus();

  // The first field that the API refused; once for each answer.
  const refused = draft.fields?.find((field) => byField.has(field.name))?.name;
  useEffect(() => {
    if (trigger.error !== null) focusField(refused);
  }, [trigger.error]);

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (when !== null && when.kind !== "instant") return;
    if (draft.conf === null) {
      setStrict(true);
      focusField(draft.fields?.find((field) => draft.messages.has(field.name))?.name);
      return;
    }
    const text = JSON.stringify([when?.at ?? null, draft.conf]);
    const key = wish.text === text || wish.text === "" ? wish.key : newKey();
    setWish({ text, key });
    setTouched(new Set());
    trigger.mutate(
      {
        dagId: dag.dagId,
        conf: draft.conf,
        idempotencyKey: key,
        ...(when !== null && { logicalDate: new Date(when.at).toISOString() }),
      },
      { onSuccess: (run) => onOpenRun(run.runId) },
    );
  };

  // From a text of several lines too, where Enter alone begins a new one.
  const onKey = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    if (ready && !trigger.isPending) form.current?.requestSubmit();
  };

  return (
    <Dialog title={`Trigger ${dag.dagId}`} onClose={onClose}>
      <form ref={form} className="form" onSubmit={submit} onKeyDown={onKey} noValidate>
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
              if (paramErrorsOf(trigger.error).length === 0) trigger.reset();
            }}
          />
          <DateHelp when={when} zone={zone} />
        </label>
        <ConfFields
          draft={draft}
          strict={strict}
          touched={touched}
          answered={new Map([...byField].filter(([name]) => !touched.has(name)))}
          onTouch={(name) => setTouched((all) => new Set(all).add(name))}
        />
        {dag.paused && (
          <p className="help">The DAG is paused; a run triggered by hand starts all the same.</p>
        )}
        {trigger.error !== null && (
          <TriggerError
            error={trigger.error}
            inFields={draft.mode === "form" && byField.size > 0}
            rest={rest}
            onOpenRun={onOpenRun}
          />
        )}
        <DialogFoot
          word={trigger.isPending ? "Triggering …" : "Trigger"}
          onClose={onClose}
          disabled={!ready || trigger.isPending}
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
  /** The fields say it already. */
  readonly inFields: boolean;
  readonly rest: readonly string[];
  readonly onOpenRun: (runId: string) => void;
}) {
  const existing = error instanceof ApiError && error.is("run_exists") ? error.details.runId : undefined;
  return (
    <div className="error-block" role="alert">
      {inFields ? (
        <>
          <p>Not triggered: see the marked {rest.length > 0 ? "fields, and:" : "fields."}</p>
          {rest.map((text) => (
            <p key={text}>{text}</p>
          ))}
        </>
      ) : (
        <p>{error.message}</p>
      )}
      {existing !== undefined && (
        <button type="button" className="as-link link" onClick={() => onOpenRun(existing)}>
          Open the run {existing}
        </button>
      )}
    </div>
  );
}
