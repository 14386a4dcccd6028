/** How a form behaves that sends a draft: when it says what is wrong, where the focus goes, what Ctrl+Enter does. */
import { useEffect, useRef, useState, type FormEvent, type KeyboardEvent, type RefObject } from "react";
import type { ParamError } from "../../../core/params.ts";
import { newKey } from "../../../remote/http.ts";
import type { FieldsProps } from "./draft-fields.tsx";
import type { Draft } from "./use-draft.ts";
import { errorsByField } from "./values.ts";

interface Given {
  readonly draft: Draft;
  /** Of the last attempt to send it. */
  readonly error: Error | null;
  /** What of the draft the API refused then. */
  readonly errors: readonly ParamError[];
  /** What else stands in the form, as far as it makes it another wish. */
  readonly beside: unknown;
  /** Something else in the form is wrong. */
  readonly blocked: boolean;
  readonly pending: boolean;
  readonly send: (value: unknown, idempotencyKey: string) => void;
}

export interface DraftForm {
  readonly form: {
    readonly ref: RefObject<HTMLFormElement | null>;
    readonly onSubmit: (event: FormEvent) => void;
    readonly onKeyDown: (event: KeyboardEvent) => void;
  };
  readonly fields: Omit<FieldsProps, "words">;
  readonly canSend: boolean;
  /** Fields say what the API refused. */
  readonly inFields: boolean;
  /** What the API refused, and no field says. */
  readonly rest: readonly string[];
}

export function useDraftForm({ draft, error, errors, beside, blocked, pending, send }: Given): DraftForm {
  const { shape, ready, mode, messages } = draft;
  const fields = shape.fields ?? [];
  const [strict, setStrict] = useState(false);
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  // One wish, one key: pressing the button again after a lost answer does nothing twice.
  const [wish, setWish] = useState({ text: "", key: newKey() });
  const form = useRef<HTMLFormElement>(null);
  // In the form all that is missing is said when someone presses the button.
  const canSend = (mode === "form" || ready !== null) && !blocked && !pending;
  const { byField, rest } = errorsByField(
    fields,
    errors.map((one) => ({ ...one, path: shape.pathOf(one.path) })),
  );

  const focusField = (name: string | undefined): void =>
    form.current
      ?.querySelector<HTMLElement>(
        `[data-field=${JSON.stringify(name ?? "")}] :is(input, select, textarea):enabled`,
      )
      ?.focus();

  // The first field that the API refused; once for each answer.
  const refused = fields.find((field) => byField.has(field.name))?.name;
  useEffect(() => {
    if (error !== null) focusField(refused);
  }, [error]);

  const onSubmit = (event: FormEvent): void => {
    event.preventDefault();
    if (blocked || pending) return;
    if (ready === null) {
      setStrict(true);
      focusField(fields.find((field) => messages.has(field.name))?.name);
      return;
    }
    const text = JSON.stringify([beside, ready.value]);
    const key = wish.text === text || wish.text === "" ? wish.key : newKey();
    setWish({ text, key });
    setTouched(new Set());
    send(ready.value, key);
  };

  // From a text of several lines too, where Enter alone begins a new one.
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    if (canSend) form.current?.requestSubmit();
  };

  return {
    form: { ref: form, onSubmit, onKeyDown },
    fields: {
      draft,
      strict,
      touched,
      answered: new Map([...byField].filter(([name]) => !touched.has(name))),
      onTouch: (name) => setTouched((all) => new Set(all).add(name)),
    },
    canSend,
    inFields: mode === "form" && byField.size > 0,
    rest,
  };
}
