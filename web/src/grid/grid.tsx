/**
 * The grid: a column per run, a row per task. Only what is in sight is in the document, so a year of a large DAG
 * scrolls like a week of a small one. The keyboard's place is `aria-activedescendant`: the focus stays on the grid.
 */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useMemo, useRef, type CSSProperties, type MouseEvent } from "react";
import type { Span } from "../routing/route.ts";
import { useZone } from "../time/zone.tsx";
import { GridHead } from "./grid-head.tsx";
import { GridHover } from "./grid-hover.tsx";
import { GridRowView, cellId } from "./grid-row.tsx";
import type { GridModel } from "./model.ts";
import { placeOf } from "./place.ts";
import { COLUMN_PX, HEAD_PX, ROW_PX, namesPx } from "./sizes.ts";
import { ticksOf, type Ticks } from "./ticks.ts";
import { useGridCursor, type Cursor } from "./use-grid-cursor.ts";

interface GridPick {
  readonly runId: string | null;
  readonly taskId: string | null;
}

const COLUMN_STEP = 16;

interface Props {
  readonly model: GridModel;
  readonly span: Span;
  readonly picked: GridPick;
  readonly onPick: (pick: GridPick) => void;
}

export function Grid({ model, span, picked, onPick }: Props) {
  const { runs, rows } = model;
  const { zone } = useZone();
  const scroller = useRef<HTMLDivElement>(null);
  const names = useMemo(() => namesPx(rows.map((row) => row.task.id)), [rows]);
  const ticks = useTicks(runs, zone);
  const columnPx = COLUMN_PX[span];

  const rowItems = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    paddingStart: HEAD_PX,
    scrollPaddingStart: HEAD_PX,
    overscan: 6,
  });
  const columnItems = useVirtualizer({
    horizontal: true,
    count: runs.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => columnPx,
    paddingStart: names,
    scrollPaddingStart: names,
    overscan: 4,
  });
  useLayoutEffect(() => columnItems.measure(), [columnItems, columnPx, names]);
  useStayAtNewest(scroller, runs.at(-1)?.key ?? null, runs[0]?.key ?? null);

  const pickedColumn = runs.findIndex((run) => run.runId === picked.runId);
  const pickedRow = rows.findIndex((row) => row.task.id === picked.taskId);
  // A link to a cell shows that cell.
  useLayoutEffect(() => {
    if (pickedRow >= 0) rowItems.scrollToIndex(pickedRow);
  }, [rowItems, pickedRow]);
  useLayoutEffect(() => {
    if (pickedColumn >= 0) columnItems.scrollToIndex(pickedColumn);
  }, [columnItems, pickedColumn]);
  const open = ({ row, column }: Cursor): void =>
    onPick({ runId: runs[column]?.runId ?? null, taskId: rows[row]?.task.id ?? null });
  const { cursor, put, onKeyDown } = useGridCursor({
    rows: rows.length,
    columns: runs.length,
    pageRows: Math.max(1, Math.floor((rowItems.scrollRect?.height ?? 400) / ROW_PX) - 5),
    start: { row: pickedRow, column: pickedColumn >= 0 ? pickedColumn : runs.length - 1 },
    onOpen: open,
    onMove: (to) => {
      if (to.row >= 0) rowItems.scrollToIndex(to.row);
      if (to.column >= 0) columnItems.scrollToIndex(to.column);
    },
  });

  const onClick = (event: MouseEvent): void => {
    const at = placeOf(event.target);
    if (at === null) return;
    put(at);
    open(at);
  };

  const inSight = columnItems.getVirtualItems();
  // In steps, so that scrolling sideways draws the rows again only now and then.
  const from = Math.floor((inSight[0]?.index ?? 0) / COLUMN_STEP) * COLUMN_STEP;
  const to =
    Math.min(runs.length, Math.ceil(((inSight.at(-1)?.index ?? -1) + 1) / COLUMN_STEP) * COLUMN_STEP) - 1;
  const sizes = { "--column": `${columnPx}px`, "--names": `${names}px` } as CSSProperties;
  return (
    <div
      ref={scroller}
      className="grid-scroll"
      role="grid"
      tabIndex={0}
      aria-label="Runs and tasks"
      aria-rowcount={rows.length + 1}
      aria-colcount={runs.length + 1}
      aria-activedescendant={cellId(cursor.row, cursor.column)}
      style={sizes}
      onClick={onClick}
      onKeyDown={onKeyDown}
    >
      <div
        className="grid-canvas"
        role="presentation"
        style={{ width: columnItems.getTotalSize() + 12, height: rowItems.getTotalSize() }}
      >
        <GridHead
          runs={runs}
          ticks={ticks}
          from={from}
          to={to}
          columnPx={columnPx}
          picked={pickedColumn}
          cursor={cursor.row === -1 ? cursor.column : null}
        />
        {pickedColumn >= 0 && (
          <div className="grid-band" role="presentation" style={{ left: names + pickedColumn * columnPx }} />
        )}
        {rowItems.getVirtualItems().map(({ index, start }) => (
          <GridRowView
            key={rows[index]?.task.id}
            row={rows[index]!}
            index={index}
            top={start}
            from={from}
            to={to}
            columnPx={columnPx}
            ticks={ticks.ticks}
            pickedColumn={index === pickedRow ? pickedColumn : null}
            cursor={index === cursor.row ? cursor.column : null}
          />
        ))}
        <GridHover scroller={scroller} model={model} ticks={ticks.ticks} names={names} columnPx={columnPx} />
      </div>
    </div>
  );
}

/** The same ticks for as long as the dates are the same, so that a run that ends draws no row again. */
function useTicks(runs: GridModel["runs"], zone: string): Ticks {
  const last = useRef<{ readonly key: string; readonly ticks: Ticks } | null>(null);
  const key = `${zone} ${runs.map((run) => run.logicalDate).join(" ")}`;
  if (last.current?.key !== key) last.current = { key, ticks: ticksOf(runs, zone) };
  return last.current.ticks;
}

/** Starts at the newest run, and follows new ones as long as the newest was in sight; leaves a reader of the past alone. */
function useStayAtNewest(
  scroller: { readonly current: HTMLDivElement | null },
  newest: string | null,
  oldest: string | null,
): void {
  const wasAtEnd = useRef(true);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const note = (): void => {
      wasAtEnd.current = element.scrollLeft + element.clientWidth >= element.scrollWidth - 30;
    };
    element.addEventListener("scroll", note, { passive: true });
    return () => element.removeEventListener("scroll", note);
  }, [scroller]);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element !== null && wasAtEnd.current) element.scrollLeft = element.scrollWidth;
  }, [scroller, newest, oldest]);
}
