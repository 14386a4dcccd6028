/** The conf of a run to be triggered: by the fields of the DAG's params, or as JSON. */
import { useMemo, useState } from "react";
import { useZone } from "../time/zone.tsx";
import { parseConf } from "./conf.ts";
import { isPlainSwitch } from "./field-input.tsx";
import { fieldsOf, type Field } from "./fields.ts";
import { confAsTyped, readForm, typedOf, type Typed } from "./values.ts";

export interface ConfDraft {
  /** null: the DAG has no params, or none that a form could show. */
  readonly fields: readonly Field[] | null;
  readonly mode: "form" | "json";
  readonly typed: Readonly<Record<string, Typed>>;
  readonly text: string;
  /** What would be sent; null: something is wrong. */
  readonly conf: Readonly<Record<string, unknown>> | null;
  /** By field, in the form. */
  readonly messages: ReadonlyMap<string, string>;
  /** Of the JSON. */
  readonly message: string | null;
  readonly setField: (name: string, typed: Typed) => void;
  readonly setText: (text: string) => void;
  readonly setMode: (mode: "form" | "json") => void;
}

export function useConf(params: Readonly<Record<string, unknown>> | null): ConfDraft {
  const { zone } = useZone();
  const fields = useMemo(() => (params === null ? null : fieldsOf(params)), [params]);
  const [mode, setMode] = useState<"form" | "json">(fields === null ? "json" : "form");
  const [typed, setTyped] = useState(() => initialOf(fields ?? [], zone));
  const [text, setText] = useState("");
  /** What the JSON had and no field shows. */
  const [extra, setExtra] = useState<Readonly<Record<string, unknown>>>({});

  const form = useMemo(() => readForm(fields ?? [], typed, zone), [fields, typed, zone]);
  const json = useMemo(() => parseConf(text), [text]);
  const inForm = mode === "form" && fields !== null;

  return {
    fields,
    mode: inForm ? "form" : "json",
    typed,
    text,
    conf: inForm
      ? form.kind === "conf"
        ? { ...extra, ...form.conf }
        : null
      : json.kind === "conf"
        ? json.conf
        : null,
    messages: form.kind === "wrong" ? form.messages : NONE,
    message: json.kind === "wrong" ? json.message : null,
    setField: (name, one) => setTyped((all) => ({ ...all, [name]: one })),
    setText,
    setMode: (next) => {
      if (fields === null || next === mode) return;
      if (next === "json")
        setText(JSON.stringify({ ...extra, ...confAsTyped(fields, typed, zone) }, null, 2));
      else if (json.kind === "conf") {
        const { conf } = json;
        const names = new Set(fields.map((field) => field.name));
        setTyped(
          Object.fromEntries(
            fields.map((field) => [
              field.name,
              Object.hasOwn(conf, field.name)
                ? typedOf(field, conf[field.name], zone)
                : { text: "", isNull: false },
            ]),
          ),
        );
        setExtra(Object.fromEntries(Object.entries(conf).filter(([name]) => !names.has(name))));
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
