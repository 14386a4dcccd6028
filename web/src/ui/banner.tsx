import type { ReactNode } from "react";

interface Props {
  readonly tone: "bad" | "warn";
  readonly children: ReactNode;
  readonly live?: boolean;
}

/** A line across the page that says what is wrong and what to do. `live` reads it out when it appears. */
export function Banner({ tone, children, live = false }: Props) {
  return (
    <div className={`banner ${tone}`} role={live ? "status" : undefined}>
      {children}
    </div>
  );
}
