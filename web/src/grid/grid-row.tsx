import { memo, useRef, type CSSProperties } from "react";
import { TASK_LOOK } from "../states/tables.ts";
import type { CellView } from "./model.ts";
import { rowMarks } from "./row-marks.ts";
import type { GridRow } from "./rows.ts";
import { ROW_PX } from "./sizes.ts";
import type { Tick } from "./ticks.ts";

export const cellId = (row: number, column: number): string => `cell-${row}-${column}`;

interface Props {
  readonly row: GridRow;
  /** Those of the columns from `from` on that are in the document. */
  readonly cells: readonly (CellView | null)[];
  readonly index: number;
  readonly top: number;
  readonly from: number;
  readonly columnPx: number;
  readonly ticks: readonly Tick[];
  /** Column picked in this row; -1: the task itself; null: another row. */
  readonly pickedColumn: number | null;
  /** The keyboard stands on the name. */
  readonly cursor: boolean;
  /** Nothing scrolls: the cells may be made, which are many; the marks alone can follow any movement. */
  readonly calm: boolean;
}

export const GridRowView = memo(function GridRowView(props: Props) {
  const { row, cells, index, top, from, columnPx, ticks, pickedColumn, cursor, calm } = props;
  const layer = useRef<CellsProps | null>(null);
  if (calm) layer.current = { row, cells, index, from, ticks, pickedColumn, columnPx };
  return (
    <div
      className={`grid-row ${row.kind}${pickedColumn !== null ? " picked" : ""}`}
      role="row"
      aria-rowindex={index + 2}
      style={{ transform: `translateY(${top}px)` }}
    >
      <Name row={row} index={index} cursor={cursor} />
      <Marks cells={cells} from={from} columnPx={columnPx} isGroup={row.kind === "group"} />
      {layer.current !== null && <Cells {...layer.current} />}
    </div>
  );
});

function Name({
  row,
  index,
  cursor,
}: {
  readonly row: GridRow;
  readonly index: number;
  readonly cursor: boolean;
}) {
  const removed = row.kind === "task" && row.removed;
  const isGroup = row.kind === "group";
  return (
    <div
      className={`grid-name${cursor ? " cursor" : ""}${removed ? " removed" : ""}`}
      role="rowheader"
      id={cellId(index, -1)}
      data-r={index}
      data-c={-1}
      title={`${row.label === row.id ? row.id : `${row.label} (${row.id})`}${removed ? ": not in the current version" : ""}`}
      style={{ "--depth": row.depth } as CSSProperties}
      {...(isGroup && { "aria-expanded": !row.folded })}
    >
      {isGroup && (
        <span className="fold" aria-hidden="true">
          {row.folded ? "▸" : "▾"}
        </span>
      )}
      {row.label}
      {isGroup && row.folded && (
        <span className="fold-count" aria-hidden="true">
          {row.tasks.length}
        </span>
      )}
    </div>
  );
}

interface MarksProps extends Pick<Props, "cells" | "from" | "columnPx"> {
  readonly isGroup: boolean;
}

/** Decoration: the words are on the cells. */
const Marks = memo(function Marks({ cells, from, columnPx, isGroup }: MarksProps) {
  const { states, retried, empty } = rowMarks(cells, columnPx, isGroup);
  return (
    <svg
      className="marks grid-marks"
      aria-hidden="true"
      width={cells.length * columnPx}
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

type CellsProps = Pick<Props, "row" | "cells" | "index" | "from" | "ticks" | "pickedColumn" | "columnPx">;

/** What is read out, pointed at and clicked. */
const Cells = memo(function Cells({ row, cells, index, from, ticks, pickedColumn, columnPx }: CellsProps) {
  const name = row.kind === "group" ? `group ${row.id}` : row.id;
  return (
    <div className="grid-cells" role="presentation" style={{ transform: `translateX(${from * columnPx}px)` }}>
      {cells.map((cell, at) => (
        <Cell
          key={from + at}
          cell={cell}
          row={index}
          column={from + at}
          label={`${name}, ${ticks[from + at]?.label ?? ""}`}
          picked={from + at === pickedColumn}
        />
      ))}
    </div>
  );
});

interface CellProps {
  readonly cell: CellView | null;
  readonly row: number;
  readonly column: number;
  readonly label: string;
  readonly picked: boolean;
}

const Cell = memo(function Cell({ cell, row, column, label, picked }: CellProps) {
  return (
    <div
      className={picked ? "grid-cell picked" : "grid-cell"}
      role="gridcell"
      id={cellId(row, column)}
      aria-colindex={column + 2}
      aria-selected={picked}
      aria-label={`${label}: ${cellInWords(cell)}`}
      data-r={row}
      data-c={column}
    />
  );
});

function cellInWords(cell: CellView | null): string {
  const { word } = TASK_LOOK[cell?.state ?? "none"];
  if (cell === null) return word;
  if (cell.tally !== undefined) return `${word}; ${tallyInWords(cell.tally)}`;
  return cell.try > 1 ? `${word}, try ${cell.try}` : word;
}

export function tallyInWords(tally: NonNullable<CellView["tally"]>): string {
  return tally.map(([state, count]) => `${count} ${TASK_LOOK[state].word}`).join(", ");
}
