import type { ReactNode } from "react";

interface Props<T> {
  readonly label: string;
  readonly values: readonly T[];
  readonly chosen: T;
  readonly onChoose: (value: T) => void;
  /** Why a value cannot be chosen now; null: it can. */
  readonly refusal?: (value: T) => string | null;
  readonly children: (value: T) => ReactNode;
}

/** A row of buttons of which one is pressed. */
export function Choice<T extends string | number | boolean | null>(props: Props<T>) {
  const { label, values, chosen, onChoose, refusal, children } = props;
  return (
    <div className="choice" role="group" aria-label={label}>
      {values.map((value) => {
        const refused = refusal?.(value) ?? null;
        return (
          <button
            key={String(value)}
            type="button"
            aria-pressed={value === chosen}
            disabled={refused !== null}
            title={refused ?? undefined}
            onClick={() => onChoose(value)}
          >
            {children(value)}
          </button>
        );
      })}
    </div>
  );
}
