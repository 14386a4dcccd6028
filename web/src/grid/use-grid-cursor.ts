/** The keyboard in the grid: arrows or letters move, Enter opens, x folds. */
import { useCallback, useState, type KeyboardEvent, type RefObject } from "react";
import { useKeys } from "../ui/use-keys.ts";
import { clamp, moveCursor, type Bounds, type Cursor } from "./cursor.ts";

/** Letters for hands that stay on the letters. */
const LETTERS: Readonly<Record<string, string>> = {
  h: "ArrowLeft",
  j: "ArrowDown",
  k: "ArrowUp",
  l: "ArrowRight",
};

interface Options extends Bounds {
  readonly start: Cursor;
  readonly scroller: RefObject<HTMLElement | null>;
  readonly onOpen: (cursor: Cursor) => void;
  readonly onFold: (cursor: Cursor) => void;
  readonly onMove: (cursor: Cursor) => void;
}

export function useGridCursor({ start, scroller, onOpen, onFold, onMove, ...bounds }: Options) {
  const [moved, setMoved] = useState<Cursor | null>(null);
  const wanted = moved ?? start;
  const cursor: Cursor = {
    row: clamp(wanted.row, -1, bounds.rows - 1),
    column: clamp(wanted.column, wanted.row < 0 ? 0 : -1, bounds.columns - 1),
  };
  const put = useCallback((next: Cursor | null) => setMoved(next), []);
  const press = (key: string, far: boolean): boolean => {
    const next = moveCursor(cursor, LETTERS[key] ?? key, far, bounds);
    if (next !== null) {
      setMoved(next);
      onMove(next);
    } else if (key === "Enter" || key === " ") onOpen(cursor);
    else if (key === "x") onFold(cursor);
    else return false;
    return true;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.altKey) return;
    if (press(event.key, event.ctrlKey || event.metaKey)) event.preventDefault();
  };
  // The letters come to the grid from anywhere on the page.
  const fromAfar = (key: string) => (): void => {
    scroller.current?.focus({ preventScroll: true });
    press(key, false);
  };
  useKeys(Object.fromEntries([...Object.keys(LETTERS), "x"].map((key) => [key, fromAfar(key)])));
  return { cursor, put, onKeyDown };
}
