import { useId } from "react";
import { useZone } from "../time/zone.tsx";
import type { Field } from "./fields.ts";
import { rulesInWords } from "./rule-words.ts";
import type { Typed } from "./values.ts";

interface Props {
  readonly field: Field;
  readonly typed: Typed;
  /** What is wrong with it, as far as it is to be said; null: nothing. */
  readonly message: string | null;
  readonly onChange: (typed: Typed) => void;
}

export function FieldInput({ field, typed, message, onChange }: Props) {
  const id = useId();
  const { zone } = useZone();
  const rules = rulesInWords(field, zone);
  const title = (
    <span className="field-title">
      {field.title}
      {field.title !== field.name && <code className="soft">{field.name}</code>}
      {field.needed && <span className="soft small">(needed)</span>}
    </span>
  );
  const input = {
    id,
    "aria-describedby": `${id}-help`,
    "aria-invalid": message !== null,
    disabled: typed.isNull,
  };
  return (
    <div className="form-field" data-field={field.name}>
      {field.kind === "boolean" && isPlainSwitch(field) ? (
        <label className="check" htmlFor={id}>
          <input
            {...input}
            type="checkbox"
            checked={typed.text === "true"}
            onChange={(event) => onChange({ text: String(event.target.checked), isNull: false })}
          />
          {title}
        </label>
      ) : (
        <>
          <label htmlFor={id}>{title}</label>
          <Control field={field} typed={typed} input={input} onChange={onChange} />
        </>
      )}
      {field.nullable && (
        <label className="check small soft">
          <input
            type="checkbox"
            checked={typed.isNull}
            onChange={(event) => onChange({ ...typed, isNull: event.target.checked })}
          />
          none (null)
        </label>
      )}
      <div id={`${id}-help`}>
        {message !== null && (
          <span className="wrong" role="status">
            {message}
          </span>
        )}
        {field.description !== "" && <span className="help">{field.description}</span>}
        {(rules !== "" || hint(field) !== "") && (
          <span className="help">{[rules, hint(field)].filter((text) => text !== "").join("; ")}</span>
        )}
      </div>
    </div>
  );
}

/** A box says yes or no; where neither is a value too, there is a list. */
export function isPlainSwitch(field: Field): boolean {
  return field.initial !== undefined || field.needed;
}

function hint(field: Field): string {
  if (field.kind === "boolean" || field.kind === "choice" || field.needed) return "";
  if (field.initial === undefined) return "empty: left out";
  return field.kind === "text" ? "" : `empty: ${JSON.stringify(field.initial)}`;
}

interface ControlProps {
  readonly field: Field;
  readonly typed: Typed;
  readonly input: Readonly<Record<string, unknown>>;
  readonly onChange: (typed: Typed) => void;
}

function Control({ field, typed, input, onChange }: ControlProps) {
  const change = (event: { readonly target: { readonly value: string } }): void =>
    onChange({ text: event.target.value, isNull: false });
  const shown = { ...input, className: "field", value: typed.isNull ? "" : typed.text, onChange: change };
  switch (field.kind) {
    case "boolean":
      return (
        <select {...shown}>
          <option value="">left out</option>
          <option value="true">yes</option>
          <option value="false">no</option>
        </select>
      );
    case "choice":
      return (
        <select {...shown}>
          {(field.initial === undefined || typed.text === "") && (
            <option value="">{field.needed ? "choose …" : "left out"}</option>
          )}
          {field.choices.map((choice) => (
            <option key={JSON.stringify(choice)} value={JSON.stringify(choice)}>
              {typeof choice === "string" ? choice : JSON.stringify(choice)}
            </option>
          ))}
        </select>
      );
    case "json":
      return <textarea {...shown} rows={2} spellCheck={false} />;
    case "text":
      return typed.text.length > 60 || typed.text.includes("\n") ? (
        <textarea {...shown} className="field words" rows={3} />
      ) : (
        <input {...shown} autoComplete="off" />
      );
    default:
      return (
        <input
          {...shown}
          autoComplete="off"
          spellCheck={false}
          inputMode={field.kind === "number" ? "decimal" : undefined}
          placeholder={PLACEHOLDER[field.kind] ?? ""}
        />
      );
  }
}

const PLACEHOLDER: Readonly<Record<string, string>> = { date: "2026-05-09", "date-time": "2026-05-09 14:30" };
