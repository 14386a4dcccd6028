import { TASK_STATES, type TaskState } from "../../../core/states.ts";
import type { RunDetail } from "../../../api/contracts.ts";
import { useTries } from "../api/queries.ts";
import type { DagView } from "../routing/route.ts";
import { changeView } from "../routing/use-route.ts";
import { Mark } from "../states/state-mark.tsx";
import { TASK_LOOK, TRY_LOOK, type Look } from "../states/tables.ts";
import { formatDuration, formatInstant } from "../time/format.ts";
import { useZone } from "../time/zone.tsx";
import { FoldButton } from "../ui/fold-button.tsx";
import {
  barsOfCell,
  barsOfTries,
  barsOfWaits,
  spanOfCells,
  type Bar,
  type GroupRow,
  type Row,
  type TaskRow,
} from "./rows.ts";

export interface Scale {
  readonly from: number;
  readonly to: number;
}

interface Props {
  readonly index: number;
  readonly top: number;
  readonly row: Row;
  readonly run: RunDetail;
  readonly view: DagView;
  readonly scale: Scale;
  readonly now: number;
  /** Tab reaches this row; arrows go on from it. */
  readonly entry: boolean;
  readonly onFocus: (index: number) => void;
}

/** What a bar is painted with: a task's state or a try's. */
function lookOf(state: Bar["state"]): Look {
  return (TASK_STATES as readonly string[]).includes(state)
    ? TASK_LOOK[state as TaskState]
    : TRY_LOOK[state as keyof typeof TRY_LOOK];
}

export function ChartRow(props: Props) {
  const { row, index, top, view } = props;
  const picked =
    row.kind === "task"
      ? view.taskId === row.taskId && (row.mapIndex === null || view.mapIndex === row.mapIndex)
      : view.groupId === row.id;
  return (
    <div
      role="listitem"
      className={`gantt-row${picked ? " picked" : ""}`}
      data-row={index}
      style={{ transform: `translateY(${top}px)` }}
    >
      {row.kind === "group" ? (
        <GroupLine {...props} row={row} picked={picked} />
      ) : row.cell !== null && row.cell.try > 1 ? (
        <RetriedLine {...props} row={row} picked={picked} />
      ) : (
        <TaskLine
          {...props}
          row={row}
          picked={picked}
          bars={row.cell === null ? [] : [...barsOfCell(row.cell), ...barsOfWaits(row.waits)]}
        />
      )}
    </div>
  );
}

type Line<R extends Row> = Omit<Props, "row"> & { readonly row: R; readonly picked: boolean };

function RetriedLine(props: Line<TaskRow>) {
  const { row, run } = props;
  const { data } = useTries(run.dagId, run.runId, row.taskId, row.mapIndex);
  return (
    <TaskLine {...props} bars={[...barsOfTries(data?.tries ?? [], row.cell!), ...barsOfWaits(row.waits)]} />
  );
}

function TaskLine({
  row,
  run,
  index,
  scale,
  now,
  entry,
  onFocus,
  picked,
  bars,
}: Line<TaskRow> & { bars: Bar[] }) {
  const { zone } = useZone();
  const look = TASK_LOOK[row.cell?.state ?? "none"];
  const pick = (tryNumber: number | null): void =>
    changeView({ runId: run.runId, taskId: row.taskId, groupId: null, mapIndex: row.mapIndex, tryNumber });
  const inWords = bars.map((bar) => barInWords(bar, now, zone)).join("; ");
  return (
    <>
      <button
        type="button"
        className="row-name"
        data-depth={Math.min(row.depth, 6)}
        tabIndex={entry ? 0 : -1}
        aria-pressed={picked}
        aria-label={`${row.label}: ${look.word}${inWords === "" ? "" : `; ${inWords}`}`}
        title={row.label}
        onFocus={() => onFocus(index)}
        onClick={() => pick(null)}
      >
        <Mark look={look} />
        <span className="name">{row.label}</span>
      </button>
      <div className="row-bars" aria-hidden="true">
        {bars.map((bar) => (
          <span
            key={`${bar.try} ${bar.part} ${bar.from}`}
            className={`bar ${bar.part}${bar.part !== "queued" ? ` tone-${lookOf(bar.state).tone}` : ""}${bar.to === null ? " live" : ""}`}
            style={placed(bar, scale, now)}
            title={barInWords(bar, now, zone)}
            onClick={() => pick(bar.try)}
          />
        ))}
      </div>
    </>
  );
}

function GroupLine({ row, run, index, scale, now, view, entry, onFocus, picked }: Line<GroupRow>) {
  const look = TASK_LOOK[row.state];
  const span = spanOfCells(row.cells, now);
  const fold = (): void =>
    changeView({
      folded: row.folded ? view.folded.filter((id) => id !== row.id) : [...view.folded, row.id],
    });
  const took = span === null ? "" : `; ${formatDuration(span.to - span.from)} in all`;
  return (
    <>
      <div className="row-group" data-depth={Math.min(row.depth, 6)}>
        <FoldButton folded={row.folded} label={row.label} onFold={fold} />
        <button
          type="button"
          className="row-name"
          tabIndex={entry ? 0 : -1}
          aria-pressed={picked}
          aria-label={`Group ${row.label}${row.folded ? ", folded" : ""}: ${look.word}${took}`}
          title={row.label}
          onFocus={() => onFocus(index)}
          onKeyDown={(event) => {
            if (event.key !== " ") return;
            event.preventDefault();
            fold();
          }}
          onClick={() =>
            changeView({ runId: run.runId, taskId: null, groupId: row.id, mapIndex: null, tryNumber: null })
          }
        >
          <Mark look={look} />
          <span className="name">{row.label}</span>
        </button>
      </div>
      <div className="row-bars" aria-hidden="true">
        {span !== null && (
          <span
            className={`bar whole tone-${look.tone}`}
            style={placed({ from: span.from, to: span.to }, scale, now)}
            title={`${row.label}: ${formatDuration(span.to - span.from)}`}
          />
        )}
      </div>
    </>
  );
}

function placed(
  bar: Pick<Bar, "from" | "to">,
  { from, to }: Scale,
  now: number,
): { left: string; width: string } {
  const whole = to - from;
  const end = bar.to ?? Math.max(now, bar.from);
  return { left: `${((bar.from - from) / whole) * 100}%`, width: `${((end - bar.from) / whole) * 100}%` };
}

/** What a try does that has no end yet. */
const GOING: Partial<Record<Bar["state"], string>> = {
  deferred: "is deferred for",
  queued: "waits to go on, after",
};

function barInWords(bar: Bar, now: number, zone: string): string {
  const length = formatDuration((bar.to ?? Math.max(now, bar.from)) - bar.from);
  const since = `from ${formatInstant(bar.from, zone)}`;
  const why = bar.why === undefined ? "" : ` (${bar.why})`;
  if (bar.part === "queued") return `try ${bar.try} waited ${length}, ${since}${why}`;
  if (bar.part === "deferred")
    return `${bar.to === null ? "waits" : "waited"} without a slot ${length}, ${since}${why}`;
  const end = bar.to === null ? (GOING[bar.state] ?? "runs") : "ran";
  return `try ${bar.try} ${end} ${length}, ${since}${bar.to === null ? "" : ` (${lookOf(bar.state).word})`}`;
}
