import { useState, type FormEvent } from "react";
import type { DagDetail } from "../../../api/contracts.ts";
import { useTrigger } from "../api/changes.ts";
import { ApiError, newKey } from "../api/fetch.ts";
import { formatInstant, formatOffset, parseTyped } from "../time/format.ts";
import { useZone } from "../time/zone.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { parseConf } from "./conf.ts";

interface Props {
  readonly dag: DagDetail;
  readonly onClose: () => void;
  readonly onOpenRun: (runId: string) => void;
}

export function TriggerDialog({ dag, onClose, onOpenRun }: Props) {
  const { zone } = useZone();
  const [date, setDate] = useState("");
  const [confText, setConfText] = useState("");
  // One wish, one key: pressing the button again after a lost answer makes no second run.
  const [wish, setWish] = useState({ text: "", key: newKey() });
  const trigger = useTrigger();
  const when = date.trim() === "" ? null : parseTyped(date, zone);
  const conf = parseConf(confText);
  const ready = conf.kind === "conf" && (when === null || when.kind === "instant");

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (conf.kind !== "conf" || (when !== null && when.kind !== "instant")) return;
    const text = JSON.stringify([when?.at ?? null, conf.conf]);
    const key = wish.text === text || wish.text === "" ? wish.key : newKey();
    setWish({ text, key });
    trigger.mutate(
      {
        dagId: dag.dagId,
        conf: conf.conf,
        idempotencyKey: key,
        ...(when !== null && { logicalDate: new Date(when.at).toISOString() }),
      },
      { onSuccess: (run) => onOpenRun(run.runId) },
    );
  };

  return (
    <Dialog title={`Trigger ${dag.dagId}`} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <label>
          Logical date
          <input
            className="field"
            autoFocus
            spellCheck={false}
            autoComplete="off"
            placeholder={`${formatInstant(Date.now(), zone, false).slice(0, 10)} 00:00`}
            aria-invalid={when !== null && when.kind !== "instant"}
            value={date}
            onChange={(event) => setDate(event.target.value)}
          />
          <DateHelp when={when} zone={zone} />
        </label>
        <label>
          Conf
          <textarea
            className="field"
            spellCheck={false}
            placeholder="{}"
            value={confText}
            aria-invalid={conf.kind === "wrong"}
            onChange={(event) => setConfText(event.target.value)}
          />
          {conf.kind === "wrong" ? (
            <span className="wrong" role="status">
              {conf.message}
            </span>
          ) : (
            <span className="help">A JSON object the tasks read as their conf; empty for none</span>
          )}
        </label>
        {dag.paused && (
          <p className="help">The DAG is paused; a run triggered by hand starts all the same.</p>
        )}
        {trigger.error !== null && <TriggerError error={trigger.error} onOpenRun={onOpenRun} />}
        <div className="dialog-foot">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={!ready || trigger.isPending}>
            {trigger.isPending ? "Triggering …" : "Trigger"}
          </button>
        </div>
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

function TriggerError({
  error,
  onOpenRun,
}: {
  readonly error: Error;
  readonly onOpenRun: (runId: string) => void;
}) {
  const existing = error instanceof ApiError && error.status === 409 ? error.details["runId"] : undefined;
  return (
    <div className="error-block" role="alert">
      <p>{error.message}</p>
      {typeof existing === "string" && (
        <button type="button" className="as-link link" onClick={() => onOpenRun(existing)}>
          Open the run {existing}
        </button>
      )}
    </div>
  );
}
