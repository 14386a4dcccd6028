import type { ReactNode } from "react";

interface Props {
  /** "Not triggered" */
  readonly said: string;
  readonly error: Error;
  /** The fields say it already. */
  readonly inFields: boolean;
  readonly rest: readonly string[];
  readonly children?: ReactNode;
}

/** What the API said against a form. */
export function Refusal({ said, error, inFields, rest, children }: Props) {
  return (
    <div className="error-block" role="alert">
      {inFields ? (
        <>
          <p>
            {said}: see the marked {rest.length > 0 ? "fields, and:" : "fields."}
          </p>
          {rest.map((text) => (
            <p key={text}>{text}</p>
          ))}
        </>
      ) : (
        <p>{error.message}</p>
      )}
      {children}
    </div>
  );
}
