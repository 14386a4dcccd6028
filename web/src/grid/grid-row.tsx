import { memo } from "react";
import { TASK_LOOK } from "../states/tables.ts";
import type { CellView, GridRow } from "./model.ts";
import { rowMarks } from "./row-marks.ts";
import { ROW_PX } from "./sizes.ts";
import type { Tick } from "./ticks.ts";

export const cellId = (row: number, column: number): string => `cell-${row}-${column}`;

interface Props {
  readonly row: GridRow;
  readonly index: number;
  readonly top: number;
  readonly from: number;
  readonly to: number;
  readonly columnPx: number;
  readonly ticks: readonly Tick[];
  /** Column picked in this row; -1: the task itself; null: another row. */
  readonly pickedColumn: number | null;
  readonly cursor: number | null;
}

export const GridRowView = memo(function GridRowView(props: Props) {
  const { row, index, top, from, to, columnPx, ticks, pickedColumn, cursor } = props;
  const columns = Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => from + at);
  return (
    <div
      className={`grid-row${pickedColumn !== null ? " picked" : ""}`}
      role="row"
      aria-rowindex={index + 2}
      style={{ transform: `translateY(${top}px)` }}
    >
      <div
        className={`grid-name${cursor === -1 ? " cursor" : ""}${row.task.removed ? " removed" : ""}`}
        role="rowheader"
        id={cellId(index, -1)}
        data-r={index}
        data-c={-1}
        title={row.task.removed ? `${row.task.id}: not in the current version` : row.task.id}
      >
        {row.task.id}
      </div>
      <Marks cells={row.cells} from={from} to={to} columnPx={columnPx} />
      {columns.map((column) => (
        <Cell
          key={column}
          cell={row.cells[column] ?? null}
          row={index}
          column={column}
          left={column * columnPx}
          label={`${row.task.id}, ${ticks[column]?.label ?? ""}`}
          picked={column === pickedColumn}
          cursor={column === cursor}
        />
      ))}
    </div>
  );
});

interface CellProps {
  readonly cell: CellView | null;
  readonly row: number;
  readonly column: number;
  readonly left: number;
  readonly label: string;
  readonly picked: boolean;
  readonly cursor: boolean;
}

/** Decoration: the words are on the cells. */
const Marks = memo(function Marks({
  cells,
  from,
  to,
  columnPx,
}: Pick<GridRow, "cells"> & Pick<Props, "from" | "to" | "columnPx">) {
  const { states, retried, empty } = rowMarks(cells, from, to, columnPx);
  return (
    <svg
      className="marks grid-marks"
      aria-hidden="true"
      width={(to - from + 1) * columnPx}
      height={ROW_PX}
      style={{ transform: `translateX(${from * columnPx}px)` }}
    >
      {empty !== "" && <path className="empty" d={empty} />}
      {states.map(({ look, fill, sign }) => (
        <g key={look.word}>
          <path className={`fill tone-${look.tone}`} d={fill} />
          {sign !== "" && <path className={`sign tone-${look.tone}${look.live ? " live" : ""}`} d={sign} />}
        </g>
      ))}
      {retried !== "" && <path className="retried" d={retried} />}
    </svg>
  );
});

const Cell = memo(function Cell({ cell, row, column, left, label, picked, cursor }: CellProps) {
  const look = TASK_LOOK[cell?.state ?? "none"];
  const retried = cell !== null && cell.try > 1;
  return (
    <div
      className={`grid-cell${cursor ? " cursor" : ""}${picked ? " picked" : ""}`}
      role="gridcell"
      id={cellId(row, column)}
      aria-colindex={column + 2}
      aria-selected={picked}
      aria-label={`${label}: ${look.word}${retried ? `, try ${cell.try}` : ""}`}
      data-r={row}
      data-c={column}
      style={{ transform: `translateX(${left}px)` }}
    />
  );
});
