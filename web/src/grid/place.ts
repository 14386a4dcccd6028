import type { Cursor } from "./cursor.ts";

/** Which cell, run or name an event came from; rows and columns are written on the elements. */
export function placeOf(target: EventTarget | null): Cursor | null {
  const cell = target instanceof Element ? target.closest<HTMLElement>("[data-c]") : null;
  if (cell === null) return null;
  return { row: Number(cell.dataset["r"]), column: Number(cell.dataset["c"]) };
}
