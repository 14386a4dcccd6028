import { useLayoutEffect, useRef } from "react";
import type { GridRun } from "../../../api/contracts.ts";

/** Within this distance of the end the newest run counts as in sight. */
const NEAR_END_PX = 30;

/**
 * Starts at the newest run, and follows new ones as long as the newest was in sight. A reader of the past stays where
 * they are, also when older columns come in before what they look at.
 */
export function useScrollPlace(
  scroller: { readonly current: HTMLDivElement | null },
  runs: readonly GridRun[],
  columnPx: number,
  /** Room after the newest column, px. */
  rest: number,
): void {
  const wasAtEnd = useRef(true);
  const last = useRef<{ readonly runs: readonly GridRun[]; readonly columnPx: number } | null>(null);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const note = (): void => {
      wasAtEnd.current = element.scrollLeft + element.clientWidth >= element.scrollWidth - NEAR_END_PX;
    };
    element.addEventListener("scroll", note, { passive: true });
    return () => element.removeEventListener("scroll", note);
  }, [scroller]);
  useLayoutEffect(() => {
    const element = scroller.current;
    const before = last.current;
    last.current = { runs, columnPx };
    if (element === null) return;
    if (wasAtEnd.current) {
      element.scrollLeft = element.scrollWidth;
      return;
    }
    if (before === null || before.columnPx !== columnPx) return;
    const oldest = before.runs[0]?.key;
    const added = runs[0]?.key === oldest ? 0 : runs.findIndex((run) => run.key === oldest);
    if (added > 0) element.scrollLeft += added * columnPx;
  }, [scroller, runs, columnPx]);
  // By where it is, not by its last event: a link may have just led elsewhere.
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const toEnd = element.scrollWidth - element.scrollLeft - element.clientWidth;
    if (toEnd <= NEAR_END_PX + columnPx) element.scrollLeft = element.scrollWidth;
  }, [scroller, columnPx, rest]);
}
