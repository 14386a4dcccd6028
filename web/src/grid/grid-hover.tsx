import { useEffect, useState, type RefObject } from "react";
import { useTries } from "../api/queries.ts";
import { StateWord } from "../states/state-mark.tsx";
import { RUN_LOOK, RUN_TYPE_WORD, TASK_LOOK } from "../states/tables.ts";
import { Took, When } from "../time/when.tsx";
import type { TaskState } from "../../../core/states.ts";
import type { GridColumn } from "./data.ts";
import type { CellView } from "./model.ts";
import { tallyInWords } from "./grid-row.tsx";
import { placeOf } from "./place.ts";
import { cellOf, type GridRow } from "./rows.ts";
import type { Tick } from "./ticks.ts";

interface Props {
  readonly dagId: string;
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly columns: readonly GridColumn[];
  readonly rows: readonly GridRow[];
  readonly ticks: readonly Tick[];
  readonly names: number;
  readonly columnPx: number;
}

/** About the width of the widest card. */
const CARD_PX = 250;

interface Spot {
  readonly row: number;
  readonly column: number;
  readonly x: number;
  readonly y: number;
}

/** A card beside the pointer and a band over its column. It keeps its own state, so that moving about draws nothing else. */
export function GridHover({ dagId, scroller, columns, rows, ticks, names, columnPx }: Props) {
  const [spot, setSpot] = useState<Spot | null>(null);
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const leave = (): void => setSpot(null);
    const move = (event: PointerEvent): void => {
      const at = event.pointerType === "touch" ? null : placeOf(event.target);
      const cell = at === null || at.column < 0 ? null : (event.target as Element).closest("[data-c]");
      if (at === null || cell === null) return leave();
      const box = cell.getBoundingClientRect();
      setSpot((old) =>
        old !== null && old.row === at.row && old.column === at.column
          ? old
          : { ...at, x: box.right, y: at.row < 0 ? box.bottom : box.top },
      );
    };
    element.addEventListener("pointerover", move);
    element.addEventListener("pointerleave", leave);
    element.addEventListener("scroll", leave, { passive: true });
    return () => {
      element.removeEventListener("pointerover", move);
      element.removeEventListener("pointerleave", leave);
      element.removeEventListener("scroll", leave);
    };
  }, [scroller]);
  if (spot === null) return null;
  // It may not cover the details beside the grid.
  const flip = spot.x + CARD_PX > (scroller.current?.getBoundingClientRect().right ?? window.innerWidth);
  const place = flip ? { right: window.innerWidth - spot.x + columnPx + 6 } : { left: spot.x + 6 };
  return (
    <>
      <div className="grid-band hover" role="presentation" style={{ left: names + spot.column * columnPx }} />
      <div
        className="grid-card"
        aria-hidden="true"
        style={{ top: Math.min(spot.y, window.innerHeight - 120), ...place }}
      >
        <Card dagId={dagId} column={columns[spot.column]} line={rows[spot.row]} tick={ticks[spot.column]} />
      </div>
    </>
  );
}

interface CardProps {
  readonly dagId: string;
  readonly column: GridColumn | undefined;
  /** undefined: the run itself. */
  readonly line: GridRow | undefined;
  readonly tick: Tick | undefined;
}

function Card({ dagId, column, line, tick }: CardProps) {
  if (column === undefined) return null;
  const { run } = column;
  if (line === undefined) {
    return (
      <>
        <strong className="number">{tick?.label}</strong>
        <StateWord look={RUN_LOOK[run.state]} />
        <span className="soft">
          {RUN_TYPE_WORD[run.runType]}, version {run.version}
        </span>
        {run.startedAt !== null && (
          <Times
            from={Date.parse(run.startedAt)}
            to={run.endedAt === null ? null : Date.parse(run.endedAt)}
            what="took"
          />
        )}
      </>
    );
  }
  const cell = cellOf(line, column);
  return (
    <>
      <strong>{line.label}</strong>
      {line.label !== line.id && <code className="soft">{line.id}</code>}
      <span className="soft number">{tick?.label}</span>
      <StateWord look={TASK_LOOK[cell?.state ?? "none"]} />
      {cell?.tally !== undefined && <span className="soft">{tallyInWords(cell.tally)}</span>}
      {cell !== null && cell.tally === undefined && cell.count > 1 && (
        <span className="soft">{cell.count} mapped instances</span>
      )}
      {cell?.labels !== undefined && cell.tally === undefined && (
        <span className="soft clip">{someOf(cell.labels)}</span>
      )}
      {cell !== null && cell.try > 1 && <span className="soft">try {cell.try}</span>}
      {cell !== null && cell.startedAt !== null && (
        <CellTimes dagId={dagId} runId={run.runId} line={line} cell={cell} />
      )}
    </>
  );
}

/** More labels than these are for the panel. */
const LABELS = 3;

const someOf = (labels: readonly string[]): string =>
  labels.slice(0, LABELS).join(", ") + (labels.length > LABELS ? " …" : "");

interface CellTimesProps {
  readonly dagId: string;
  readonly runId: string;
  readonly line: GridRow;
  readonly cell: CellView;
}

/** States of which a cell says when the run decided them, which is a little after the try had ended. */
const DECIDED: ReadonlySet<TaskState> = new Set(["failed", "up_for_retry"]);

/** How long the last try ran, as the details say it; of several tasks or instances, from the first start to the last end. */
function CellTimes({ dagId, runId, line, cell }: CellTimesProps) {
  const { startedAt, endedAt, state } = cell;
  if (cell.count > 1) return <Times from={startedAt!} to={endedAt} what="in all" />;
  if (state === "deferred") return <Times from={startedAt!} to={endedAt} what="under way for" />;
  if (!DECIDED.has(state)) return <Times from={startedAt!} to={endedAt} what="ran for" />;
  return <TryTimes dagId={dagId} runId={runId} taskId={line.id} cell={cell} />;
}

interface TryTimesProps {
  readonly dagId: string;
  readonly runId: string;
  readonly taskId: string;
  readonly cell: CellView;
}

function TryTimes({ dagId, runId, taskId, cell }: TryTimesProps) {
  const { data } = useTries(dagId, runId, taskId, null);
  if (data === undefined) return <span className="soft">…</span>;
  const one = data.tries.find((each) => each.try === cell.try);
  if (one === undefined || one.startedAt === null)
    return <Times from={cell.startedAt!} to={cell.endedAt} what="in all" />;
  const to = one.endedAt === null ? null : Date.parse(one.endedAt);
  return <Times from={Date.parse(one.startedAt)} to={to} what="ran for" />;
}

interface TimesProps {
  readonly from: number;
  readonly to: number | null;
  /** What the length is of. */
  readonly what: string;
}

function Times({ from, to, what }: TimesProps) {
  return (
    <span className="soft number">
      <When at={from} /> · {what} <Took from={from} to={to} />
    </span>
  );
}
