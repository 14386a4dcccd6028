/** The signs of a row as a few paths, one pair per state: thousands of cells in sight stay a few hundred shapes. Pure. */
import { TASK_LOOK, markAt, type Look } from "../states/tables.ts";
import type { CellView } from "./model.ts";
import { ROW_PX } from "./sizes.ts";

interface StatePaths {
  readonly look: Look;
  readonly fill: string;
  readonly sign: string;
}

export interface RowMarks {
  readonly states: readonly StatePaths[];
  /** Dots on cells that took more than one try. */
  readonly retried: string;
  /** Dots where the task has not been asked for. */
  readonly empty: string;
}

/** Height of a mark, and its width where the columns are wide enough. */
const MARK_PX = 18;
/** Side of the field a sign is drawn on. */
const FIELD_PX = 12;
const RADIUS = 3;

function markWidth(columnPx: number): number {
  return Math.min(MARK_PX, columnPx - 2);
}

function box(x: number, y: number, width: number, height: number): string {
  const [w, h, r] = [width - 2 * RADIUS, height - 2 * RADIUS, RADIUS];
  const corner = (dx: number, dy: number): string => `a${r} ${r} 0 0 1 ${dx} ${dy}`;
  return `M${x + r} ${y}h${w}${corner(r, r)}v${h}${corner(-r, r)}h${-w}${corner(-r, -r)}v${-h}${corner(r, -r)}z`;
}

function dot(x: number, y: number, r: number): string {
  return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
}

/** A group's mark is less high, so that sums and single tasks are told apart. */
const GROUP_PX = 14;

interface Shape {
  readonly fill: string;
  readonly sign: string;
}

/** Shapes by look and place: the same few thousand are wanted again with every column that comes into sight. */
const shapes = new Map<string, Shape>();
const MOST_SHAPES = 20_000;

function shapeOf(look: Look, at: number, columnPx: number, height: number): Shape {
  const key = `${look.word} ${at} ${columnPx} ${height}`;
  let shape = shapes.get(key);
  if (shape === undefined) {
    if (shapes.size >= MOST_SHAPES) shapes.clear();
    const middle = at * columnPx + columnPx / 2;
    const width = markWidth(columnPx);
    shape = {
      fill: box(middle - width / 2, (ROW_PX - height) / 2, width, height),
      sign: markAt(look.mark, middle - FIELD_PX / 2, (ROW_PX - FIELD_PX) / 2),
    };
    shapes.set(key, shape);
  }
  return shape;
}

/** Marks of cells side by side; x counts from the first. */
export function rowMarks(cells: readonly (CellView | null)[], columnPx: number, isGroup = false): RowMarks {
  const height = isGroup ? GROUP_PX : MARK_PX;
  const byState = new Map<string, { look: Look; fill: string; sign: string }>();
  let retried = "";
  let empty = "";
  for (const [at, cell] of cells.entries()) {
    const middle = at * columnPx + columnPx / 2;
    if (cell === null) {
      empty += dot(middle, ROW_PX / 2, 1.5);
      continue;
    }
    const look: Look = TASK_LOOK[cell.state];
    let paths = byState.get(cell.state);
    if (paths === undefined) byState.set(cell.state, (paths = { look, fill: "", sign: "" }));
    const shape = shapeOf(look, at, columnPx, height);
    paths.fill += shape.fill;
    paths.sign += shape.sign;
    if (cell.try > 1) retried += dot(middle + markWidth(columnPx) / 2 - 1, (ROW_PX - height) / 2 + 1, 3);
  }
  return { states: [...byState.values()], retried, empty };
}
