/** Where the keyboard stands in the grid. Row -1 is the runs' header, column -1 the tasks' names. Pure. */

export interface Cursor {
  readonly row: number;
  readonly column: number;
}

export interface Bounds {
  readonly rows: number;
  readonly columns: number;
  /** Rows that a page key moves by. */
  readonly pageRows: number;
}

export function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}

/** The cursor after a key, or null when the key does not move it. */
export function moveCursor(
  { row, column }: Cursor,
  key: string,
  far: boolean,
  bounds: Bounds,
): Cursor | null {
  const lastRow = bounds.rows - 1;
  const lastColumn = bounds.columns - 1;
  const to = (toRow: number, toColumn: number): Cursor => ({
    row: clamp(toRow, -1, lastRow),
    // The corner holds nothing to open.
    column: clamp(toColumn, toRow < 0 ? 0 : -1, lastColumn),
  });
  switch (key) {
    case "ArrowLeft":
      return to(row, far ? 0 : column - 1);
    case "ArrowRight":
      return to(row, far ? lastColumn : column + 1);
    case "ArrowUp":
      return to(far ? -1 : row - 1, column);
    case "ArrowDown":
      return to(far ? lastRow : row + 1, column);
    case "Home":
      return to(far ? 0 : row, 0);
    case "End":
      return to(far ? lastRow : row, lastColumn);
    case "PageUp":
      return to(row - bounds.pageRows, column);
    case "PageDown":
      return to(row + bounds.pageRows, column);
    default:
      return null;
  }
}
