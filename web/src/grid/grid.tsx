/**
 * The grid: a column per run, a row per task or group. Only what is in sight is in the document, so years of a large
 * DAG scroll like a week of a small one. The keyboard's place is `aria-activedescendant`: the focus stays on the grid.
 */
import { useVirtualizer } from "@tanstack/react-virtual";
import {
  useDeferredValue,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  type CSSProperties,
  type MouseEvent,
} from "react";
import type { GridRun } from "../../../api/contracts.ts";
import type { Span } from "../routing/route.ts";
import { useZone } from "../time/zone.tsx";
import type { Cursor } from "./cursor.ts";
import type { GridColumn } from "./data.ts";
import { GridHead } from "./grid-head.tsx";
import { GridHover } from "./grid-hover.tsx";
import { GridRowView, cellId } from "./grid-row.tsx";
import type { CellView } from "./model.ts";
import { placeOf } from "./place.ts";
import { cellOf, type GridRow } from "./rows.ts";
import { COLUMN_PX, HEAD_PX, ROW_PX, namesPx } from "./sizes.ts";
import { ticksOf, type Ticks } from "./ticks.ts";
import { useGridCursor } from "./use-grid-cursor.ts";
import { useScrollPlace } from "./use-scroll-place.ts";

interface GridPick {
  readonly runId: string | null;
  readonly taskId: string | null;
  readonly groupId: string | null;
}

/** Columns are put into the document this many at a time, so that scrolling sideways seldom draws the rows again. */
const COLUMN_STEP = 16;
/** This far from the oldest column, older runs are asked for. */
const NEAR_START_PX = 400;

interface Props {
  readonly dagId: string;
  readonly columns: readonly GridColumn[];
  readonly rows: readonly GridRow[];
  readonly span: Span;
  readonly picked: GridPick;
  readonly onPick: (pick: GridPick) => void;
  readonly onFold: (groupId: string) => void;
  /** The reader came near the oldest column. */
  readonly onNearStart: () => void;
  /** Key of the oldest run in sight, and how many columns stand before it. */
  readonly onSight: (key: string | null, before: number) => void;
}

export function Grid(props: Props) {
  const { dagId, columns, rows, span, picked, onPick, onFold, onNearStart, onSight } = props;
  const { zone } = useZone();
  const scroller = useRef<HTMLDivElement>(null);
  const runs = useMemo(() => columns.map((column) => column.run), [columns]);
  const names = useMemo(() => namesPx(rows), [rows]);
  const ticks = useTicks(runs, zone);
  const columnPx = COLUMN_PX[span];

  const rowItems = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    paddingStart: HEAD_PX,
    scrollPaddingStart: HEAD_PX,
    overscan: 6,
    // Drawn when React gets to it: both directions at once, and never within the scroll event.
    useFlushSync: false,
  });
  const columnItems = useVirtualizer({
    horizontal: true,
    count: columns.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => columnPx,
    paddingStart: names,
    scrollPaddingStart: names,
    overscan: 4,
    useFlushSync: false,
  });
  useLayoutEffect(() => columnItems.measure(), [columnItems, columnPx, names]);
  const rest = useRest(scroller, columnItems.getTotalSize(), columnPx, columnItems.scrollRect?.width);
  useScrollPlace(scroller, runs, columnPx, rest);

  const pickedColumn = runs.findIndex((run) => run.runId === picked.runId);
  const pickedId = picked.taskId ?? picked.groupId;
  const pickedRow = rows.findIndex((row) => row.id === pickedId);
  // A link to a cell shows that cell; columns that come before it must not move it out of sight again.
  useLayoutEffect(() => {
    if (pickedRow >= 0) rowItems.scrollToIndex(pickedRow);
  }, [rowItems, pickedRow]);
  const latestColumn = useRef(pickedColumn);
  latestColumn.current = pickedColumn;
  const isThere = pickedColumn >= 0;
  useLayoutEffect(() => {
    if (isThere) columnItems.scrollToIndex(latestColumn.current);
  }, [columnItems, picked.runId, isThere]);

  const open = ({ row, column }: Cursor): void => {
    const line = rows[row];
    if (column < 0 && line?.kind === "group") return onFold(line.id);
    onPick({
      runId: runs[column]?.runId ?? null,
      taskId: line?.kind === "task" ? line.id : null,
      groupId: line?.kind === "group" ? line.id : null,
    });
  };
  const { cursor, put, onKeyDown } = useGridCursor({
    rows: rows.length,
    columns: columns.length,
    pageRows: Math.max(1, Math.floor((rowItems.scrollRect?.height ?? 400) / ROW_PX) - 5),
    start: { row: pickedRow, column: pickedColumn >= 0 ? pickedColumn : columns.length - 1 },
    scroller,
    onOpen: open,
    onFold: ({ row }) => {
      const line = rows[row];
      if (line?.kind === "group") onFold(line.id);
    },
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
    Math.min(columns.length, Math.ceil(((inSight.at(-1)?.index ?? -1) + 1) / COLUMN_STEP) * COLUMN_STEP) - 1;
  const first = columnItems.range?.startIndex ?? 0;
  useEffect(() => onSight(runs[first]?.key ?? null, first), [onSight, runs, first]);
  const onScroll = (): void => {
    const element = scroller.current;
    if (element !== null && element.scrollLeft < NEAR_START_PX) onNearStart();
  };
  // Making thousands of cells takes longer than a frame: it waits for the scrolling to end, and then gives way to it.
  const still = !rowItems.isScrolling && !columnItems.isScrolling;
  const calm = useDeferredValue(still, true) && still;
  const cellsOf = useSeenCells(columns, from, to);
  const sizes = { "--column": `${columnPx}px`, "--names": `${names}px` } as CSSProperties;
  return (
    <div className="grid-frame">
      <div
        ref={scroller}
        className="grid-scroll"
        role="grid"
        tabIndex={0}
        aria-label="Runs and tasks"
        aria-rowcount={rows.length + 1}
        aria-colcount={columns.length + 1}
        aria-activedescendant={cellId(cursor.row, cursor.column)}
        style={sizes}
        onClick={onClick}
        onKeyDown={onKeyDown}
        onScroll={onScroll}
      >
        <div
          className="grid-canvas"
          role="presentation"
          style={{ width: columnItems.getTotalSize() + rest, height: rowItems.getTotalSize() }}
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
            <div
              className="grid-band"
              role="presentation"
              style={{ left: names + pickedColumn * columnPx }}
            />
          )}
          {cursor.row >= 0 && cursor.column >= 0 && (
            <div
              className="grid-cursor cursor"
              role="presentation"
              style={{
                transform: `translate(${names + cursor.column * columnPx}px, ${HEAD_PX + cursor.row * ROW_PX}px)`,
              }}
            />
          )}
          {rowItems.getVirtualItems().map(({ index, start }) => {
            const row = rows[index];
            return row === undefined ? null : (
              <GridRowView
                key={row.id}
                row={row}
                cells={cellsOf(row)}
                index={index}
                top={start}
                from={from}
                columnPx={columnPx}
                ticks={ticks.ticks}
                pickedColumn={index === pickedRow ? pickedColumn : null}
                cursor={index === cursor.row && cursor.column === -1}
                calm={calm}
              />
            );
          })}
          <GridHover
            dagId={dagId}
            scroller={scroller}
            columns={columns}
            rows={rows}
            ticks={ticks.ticks}
            names={names}
            columnPx={columnPx}
          />
        </div>
      </div>
    </div>
  );
}

/** Room after the newest column, at least. */
const END_PX = 12;

/** So much room after the newest column that, with it in sight, the first column in sight is a whole one. */
function useRest(
  scroller: { readonly current: HTMLElement | null },
  total: number,
  columnPx: number,
  seenPx: number | undefined,
): number {
  const [rest, setRest] = useState(END_PX);
  useLayoutEffect(() => {
    const hidden = total + END_PX - (scroller.current?.clientWidth ?? 0);
    setRest(hidden <= 0 ? END_PX : END_PX + ((columnPx - (hidden % columnPx)) % columnPx));
  }, [scroller, total, columnPx, seenPx]);
  return rest;
}

/** The cells of a row that are in the document: the same array for as long as none of them changed. */
function useSeenCells(
  columns: readonly GridColumn[],
  from: number,
  to: number,
): (row: GridRow) => readonly (CellView | null)[] {
  const seen = useRef(new WeakMap<GridRow, readonly (CellView | null)[]>());
  return (row) => {
    const next = columns.slice(from, to + 1).map((column) => cellOf(row, column));
    const old = seen.current.get(row);
    const same = old?.length === next.length && old.every((cell, at) => cell === next[at]);
    if (same) return old;
    seen.current.set(row, next);
    return next;
  };
}

/** The same ticks for as long as the dates are the same, so that a run that ends draws no row again. */
function useTicks(runs: readonly GridRun[], zone: string): Ticks {
  const last = useRef<{ readonly runs: readonly GridRun[]; readonly zone: string; readonly ticks: Ticks }>(
    null,
  );
  const known = last.current;
  const same =
    known !== null &&
    known.zone === zone &&
    (known.runs === runs ||
      (known.runs.length === runs.length &&
        known.runs.every((run, at) => run.logicalDate === runs[at]!.logicalDate)));
  if (!same) last.current = { runs, zone, ticks: ticksOf(runs, zone) };
  return last.current!.ticks;
}
