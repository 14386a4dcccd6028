import type { DialTurn } from "../../../api/contracts-dial.ts";

type Bounds = Pick<DialTurn, "tries" | "belowClass" | "belowPriority">;

/** What it lets begin. */
export function boundsInWords({ tries, belowClass, belowPriority }: Bounds): string {
  const bounds = [
    ...(tries === null ? [] : [`at most ${tries} ${tries === 1 ? "try" : "tries"} at once`]),
    ...(belowClass === null ? [] : [`nothing below class ${belowClass}`]),
    ...(belowPriority === null ? [] : [`nothing below priority ${belowPriority}`]),
  ];
  return bounds.length === 0 ? "off" : bounds.join(", ");
}
