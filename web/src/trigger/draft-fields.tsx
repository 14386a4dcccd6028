import { Choice } from "../ui/choice.tsx";
import { FieldInput } from "./field-input.tsx";
import type { Draft } from "./use-draft.ts";

/** What is asked for is called: over its fields, over its JSON, and what may stand there. */
interface Words {
  readonly fields: string;
  readonly json: string;
  readonly anyJson: string;
  readonly fittingJson: string;
}

export interface FieldsProps {
  readonly draft: Draft;
  /** All that is wrong is said once someone tried to send it; before, only of what was touched. */
  readonly strict: boolean;
  readonly touched: ReadonlySet<string>;
  /** What the API said, by field. */
  readonly answered: ReadonlyMap<string, string>;
  readonly onTouch: (name: string) => void;
  readonly words: Words;
}

export function DraftFields({ draft, strict, touched, answered, onTouch, words }: FieldsProps) {
  const { shape, mode } = draft;
  return (
    <>
      {shape.fields !== null && (
        <div className="conf-head">
          <h3>{words.fields}</h3>
          <Choice
            label={`How to give the ${words.fields.toLowerCase()}`}
            values={["form", "json"] as const}
            chosen={mode}
            onChoose={(one) => draft.setMode(one)}
            refusal={(one) => (one === "form" && mode === "json" ? draft.whyNoForm : null)}
          >
            {(one) => (one === "form" ? "Form" : "JSON")}
          </Choice>
        </div>
      )}
      {mode === "form" && shape.fields !== null ? (
        shape.fields.map((field) => (
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
        <JsonField draft={draft} words={words} />
      )}
    </>
  );
}

function JsonField({
  draft: { text, message, setText, shape },
  words,
}: {
  readonly draft: Draft;
  readonly words: Words;
}) {
  return (
    <label>
      {words.json}
      <textarea
        className="field"
        spellCheck={false}
        placeholder="{}"
        value={text}
        rows={shape.fields === null ? 5 : 10}
        aria-invalid={message !== null}
        onChange={(event) => setText(event.target.value)}
      />
      {message !== null ? (
        <span className="wrong" role="status">
          {message}
        </span>
      ) : (
        <span className="help">{shape.fields === null ? words.anyJson : words.fittingJson}</span>
      )}
    </label>
  );
}
