import type { ConfDraft } from "./use-conf.ts";
import { Choice } from "../ui/choice.tsx";
import { FieldInput } from "./field-input.tsx";

interface Props {
  readonly draft: ConfDraft;
  /** All that is wrong is said once someone tried to trigger; before, only of what was touched. */
  readonly strict: boolean;
  readonly touched: ReadonlySet<string>;
  /** What the API said, by field. */
  readonly answered: ReadonlyMap<string, string>;
  readonly onTouch: (name: string) => void;
}

export function ConfFields({ draft, strict, touched, answered, onTouch }: Props) {
  const { fields, mode } = draft;
  return (
    <>
      {fields !== null && (
        <div className="conf-head">
          <h3>Params</h3>
          <Choice
            label="How to give the params"
            values={["form", "json"] as const}
            chosen={mode}
            onChoose={(one) => draft.setMode(one)}
            refusal={(one) =>
              one === "form" && mode === "json" && draft.message !== null ? "The JSON has an error" : null
            }
          >
            {(one) => (one === "form" ? "Form" : "JSON")}
          </Choice>
        </div>
      )}
      {mode === "form" && fields !== null ? (
        fields.map((field) => (
          <FieldInput
            key={field.name}
            field={field}
            typed={draft.typed[field.name] ?? { text: "", isNull: false }}
            message={
              (strict || touched.has(field.name) ? draft.messages.get(field.name) : undefined) ??
              answered.get(field.name) ??
              null
            }
            onChange={(typed) => {
              onTouch(field.name);
              draft.setField(field.name, typed);
            }}
          />
        ))
      ) : (
        <JsonField draft={draft} />
      )}
    </>
  );
}

function JsonField({ draft: { text, message, setText, fields } }: { readonly draft: ConfDraft }) {
  return (
    <label>
      Conf
      <textarea
        className="field"
        spellCheck={false}
        placeholder="{}"
        value={text}
        rows={fields === null ? 5 : 10}
        aria-invalid={message !== null}
        onChange={(event) => setText(event.target.value)}
      />
      {message !== null ? (
        <span className="wrong" role="status">
          {message}
        </span>
      ) : (
        <span className="help">
          {fields === null
            ? "A JSON object the tasks read as their conf; empty for none"
            : "A JSON object that fits the DAG's params; what is left out takes its default"}
        </span>
      )}
    </label>
  );
}
