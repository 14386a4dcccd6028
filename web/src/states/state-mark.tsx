import type { Look } from "./tables.ts";

/** The sign of a state: colour and shape. Decoration only; put the word beside it or in the parent's label. */
export function Mark({ look }: { readonly look: Look }) {
  return (
    <span className={`mark tone-${look.tone}${look.live ? " live" : ""}`} aria-hidden="true">
      {look.mark !== "" && (
        <svg viewBox="0 0 12 12">
          <path d={look.mark} />
        </svg>
      )}
    </span>
  );
}

/** Sign and word. */
export function StateWord({ look }: { readonly look: Look }) {
  return (
    <span className="state-word" title={look.meaning}>
      <Mark look={look} />
      {look.word}
    </span>
  );
}
