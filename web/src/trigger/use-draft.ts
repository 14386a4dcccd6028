/** What is to be sent: by the fields of its schema, or as JSON. */
import { useMemo, useState } from "react";
import { useZone } from "../time/zone.tsx";
import { isPlainSwitch } from "./field-input.tsx";
import type { Field } from "./fields.ts";
import type { Shape } from "./shapes.ts";
import { confAsTyped, readForm, typedOf, type Typed } from "./values.ts";

export interface Draft {
  readonly shape: Shape;
  readonly mode: "form" | "json";
  readonly typed: Readonly<Record<string, Typed>>;
  readonly text: string;
  /** What would be sent; null: something is wrong. */
  readonly ready: { readonly value: unknown } | null;
  /** By field, in the form. */
  readonly messages: ReadonlyMap<string, string>;
  /** Of the JSON. */
  readonly message: string | null;
  /** Why the JSON cannot be shown by fields; null: it can. */
  readonly whyNoForm: string | null;
  readonly setField: (name: string, typed: Typed) => void;
  readonly setText: (text: string) => void;
  readonly setMode: (mode: "form" | "json") => void;
}

export function useDraft(shape: Shape): Draft {
  const { zone } = useZone();
  const { fields, parse, valuesOf, sentOf } = shape;
  const [mode, setMode] = useState<"form" | "json">(fields === null ? "json" : "form");
  const [typed, setTyped] = useState(() => initialOf(fields ?? [], zone));
  const [text, setText] = useState("");
  /** What the JSON had and no field shows. */
  const [extra, setExtra] = useState<Readonly<Record<string, unknown>>>({});

  const form = useMemo(() => readForm(fields ?? [], typed, zone), [fields, typed, zone]);
  const json = useMemo(() => parse(text), [parse, text]);
  const inForm = mode === "form" && fields !== null;
  const inFields = json.kind === "value" ? valuesOf(json.value) : null;

  return {
    shape,
    mode: inForm ? "form" : "json",
    typed,
    text,
    ready: inForm
      ? form.kind === "conf"
        ? { value: sentOf({ ...extra, ...form.conf }) }
        : null
      : json.kind === "value"
        ? { value: json.value }
        : null,
    messages: form.kind === "wrong" ? form.messages : NONE,
    message: json.kind === "wrong" ? json.message : null,
    whyNoForm:
      json.kind === "wrong"
        ? "The JSON has an error"
        : inFields === null
          ? "The JSON is not an object"
          : null,
    setField: (name, one) => setTyped((all) => ({ ...all, [name]: one })),
    setText,
    setMode: (next) => {
      if (fields === null || next === mode) return;
      if (next === "json")
        setText(JSON.stringify(sentOf({ ...extra, ...confAsTyped(fields, typed, zone) }), null, 2));
      else if (inFields !== null) {
        const names = new Set(fields.map((field) => field.name));
        setTyped(
          Object.fromEntries(
            fields.map((field) => [
              field.name,
              Object.hasOwn(inFields, field.name)
                ? typedOf(field, inFields[field.name], zone)
                : { text: "", isNull: false },
            ]),
          ),
        );
        setExtra(Object.fromEntries(Object.entries(inFields).filter(([name]) => !names.has(name))));
      } else return;
      setMode(next);
    },
  };
}

const NONE: ReadonlyMap<string, string> = new Map();

function initialOf(fields: readonly Field[], zone: string): Record<string, Typed> {
  return Object.fromEntries(
    fields.map((field) => {
      const { initial } = field;
      // An unticked box says no.
      const start =
        initial === undefined && field.kind === "boolean" && isPlainSwitch(field) ? false : initial;
      return [field.name, typedOf(field, start, zone)];
    }),
  );
}
