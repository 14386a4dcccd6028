import { useState, type FormEvent, type ReactNode } from "react";
import type { DialInForce, DialPreview } from "../../../api/contracts-dial.ts";
import type { DialBounds } from "../../../remote/index.ts";
import { Choice } from "../ui/choice.tsx";
import { Dialog, DialogFoot } from "../ui/dialog.tsx";
import { useDialPreview, useTurn } from "./queries.ts";

const CLASSES = ["any", "standard", "critical"] as const;
const CLASS_WORDS: Record<(typeof CLASSES)[number], string> = {
  any: "any class",
  standard: "standard and critical",
  critical: "critical alone",
};

interface TurnProps {
  readonly inForce: DialInForce | null;
  readonly onClose: () => void;
}

const textOf = (bound: number | null | undefined): string => String(bound ?? "");

/** An empty field is no bound; undefined: what stands in it is no whole number. */
const numberIn = (text: string, pattern: RegExp): number | null | undefined =>
  text.trim() === "" ? null : pattern.test(text.trim()) ? Number(text) : undefined;

export function TurnDial({ inForce, onClose }: TurnProps) {
  const [tries, setTries] = useState(textOf(inForce?.tries));
  const [lowest, setLowest] = useState<(typeof CLASSES)[number]>(inForce?.belowClass ?? "any");
  const [priority, setPriority] = useState(textOf(inForce?.belowPriority));
  const [reason, setReason] = useState("");
  const [preempt, setPreempt] = useState(false);
  const turn = useTurn();

  const most = numberIn(tries, /^\d{1,6}$/);
  const below = numberIn(priority, /^-?\d{1,9}$/);
  const belowClass = lowest === "any" ? null : lowest;
  const isBound = (most ?? below ?? belowClass) !== null;
  const bounds: DialBounds | null =
    isBound && most !== undefined && below !== undefined
      ? { tries: most, belowClass, belowPriority: below }
      : null;
  const preview = useDialPreview(bounds);

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (bounds === null) return;
    turn.mutate({ kind: "set", wish: { ...bounds, reason: reason.trim(), preempt } }, { onSuccess: onClose });
  };

  return (
    <Dialog title="Turn the emergency dial" onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <NumberField
          label="Tries at once"
          help="Over all pools; empty: as many as the pools let"
          wrong={most === undefined ? "A whole number from 0" : null}
          text={tries}
          onText={setTries}
          first
        />
        <Choice label="Let begin" values={CLASSES} chosen={lowest} onChoose={setLowest}>
          {(one) => CLASS_WORDS[one]}
        </Choice>
        <NumberField
          label="Lowest priority"
          help="What asks with less waits; empty: any"
          wrong={below === undefined ? "A whole number" : null}
          text={priority}
          onText={setPriority}
        />
        <label className="check">
          <input type="checkbox" checked={preempt} onChange={(event) => setPreempt(event.target.checked)} />
          Tries under way that it would not let begin give their slots back
        </label>
        <ReasonField reason={reason} onReason={setReason} />
        <p className="soft small" role="status">
          {bounds === null || preview.data === undefined
            ? "Set a bound to see what it would do now."
            : previewInWords(preview.data, preempt)}
        </p>
        <Wrong error={turn.error} />
        <DialogFoot
          word="Turn the dial"
          onClose={onClose}
          disabled={bounds === null || reason.trim() === "" || turn.isPending}
        />
      </form>
    </Dialog>
  );
}

function previewInWords({ running, wouldHold, wouldGiveBack }: DialPreview, preempt: boolean): string {
  const asked = preempt
    ? `${wouldGiveBack} of ${running} under way would give their slots back and run again later.`
    : `${running} under way go on.`;
  return `Now it would hold ${wouldHold} waiting ${wouldHold === 1 ? "try" : "tries"} back; ${asked}`;
}

export function LiftDial({ onClose }: { readonly onClose: () => void }) {
  const [reason, setReason] = useState("");
  const turn = useTurn();
  return (
    <Dialog title="Lift the emergency dial" onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          turn.mutate({ kind: "off", reason: reason.trim() }, { onSuccess: onClose });
        }}
      >
        <p className="soft">What waits for it begins at once, as far as pools and limits let it.</p>
        <ReasonField reason={reason} onReason={setReason} first />
        <Wrong error={turn.error} />
        <DialogFoot word="Lift it" onClose={onClose} disabled={reason.trim() === "" || turn.isPending} />
      </form>
    </Dialog>
  );
}

interface NumberProps {
  readonly label: string;
  readonly help: string;
  readonly wrong: string | null;
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly first?: boolean;
}

function NumberField({ label, help, wrong, text, onText, first = false }: NumberProps): ReactNode {
  return (
    <label>
      {label}
      <input
        className="field"
        data-first={first ? "" : undefined}
        inputMode="numeric"
        autoComplete="off"
        aria-invalid={wrong !== null}
        value={text}
        onChange={(event) => onText(event.target.value)}
      />
      {wrong === null ? (
        <span className="help">{help}</span>
      ) : (
        <span className="wrong" role="status">
          {wrong}
        </span>
      )}
    </label>
  );
}

interface ReasonProps {
  readonly reason: string;
  readonly onReason: (reason: string) => void;
  readonly first?: boolean;
}

function ReasonField({ reason, onReason, first = false }: ReasonProps): ReactNode {
  return (
    <label>
      Reason
      <input
        className="field"
        data-first={first ? "" : undefined}
        required
        maxLength={500}
        placeholder="Everybody sees it"
        value={reason}
        onChange={(event) => onReason(event.target.value)}
      />
    </label>
  );
}

const Wrong = ({ error }: { readonly error: Error | null }): ReactNode =>
  error !== null && (
    <p className="error-block" role="alert">
      {error.message}
    </p>
  );
