import { memo, useMemo } from "react";
import type { GridRun } from "../../../api/contracts.ts";
import { RUN_DONE } from "../../../core/states.ts";
import { Mark } from "../states/state-mark.tsx";
import { RUN_LOOK, RUN_TYPE_SIGN, RUN_TYPE_WORD } from "../states/tables.ts";
import { formatDuration } from "../time/format.ts";
import { useNow } from "../time/use-now.ts";
import { cellId } from "./grid-row.tsx";
import { barScale, runDuration } from "./model.ts";
import { BAR_PX } from "./sizes.ts";
import type { Heading, Tick, Ticks } from "./ticks.ts";

interface Props {
  readonly runs: readonly GridRun[];
  readonly ticks: Ticks;
  readonly from: number;
  readonly to: number;
  readonly columnPx: number;
  readonly picked: number;
  /** Column of the keyboard's place when it stands in the header. */
  readonly cursor: number | null;
}

/** Dates, a bar for how long each run took, and its state. Only a header with a run under way follows the clock. */
export const GridHead = memo(function GridHead(props: Props) {
  const live = props.runs.some((run) => !RUN_DONE[run.state]);
  return live ? <LiveHead {...props} /> : <Head {...props} now={0} />;
});

function LiveHead(props: Props) {
  return <Head {...props} now={useNow()} />;
}

function Head({ runs, ticks, from, to, columnPx, picked, cursor, now }: Props & { readonly now: number }) {
  const durations = useMemo(() => runs.map((run) => runDuration(run, now)), [runs, now]);
  const scale = useMemo(() => barScale(runs, durations), [runs, durations]);
  // Three signs and a gap need about 18 px; below that every second tick is left out.
  const everyTick = columnPx >= 18;
  // Nothing stands to the right of the last heading, so it may be longer than its columns.
  const isLast = (heading: Heading): boolean => heading === ticks.headings.at(-1);
  return (
    <div className="grid-head" role="row" aria-rowindex={1}>
      <div className="grid-corner" role="columnheader">
        <span className="soft">{scale > 0 ? formatDuration(scale) : ""}</span>
        <span className="soft">0</span>
        <span>Task</span>
      </div>
      {ticks.headings
        .filter((heading) => heading.from <= to && heading.from + heading.span > from)
        .map((heading) => (
          <div
            key={heading.from}
            className="grid-heading"
            role="presentation"
            style={{
              left: `calc(var(--names) + ${heading.from * columnPx}px)`,
              width: heading.span * columnPx,
            }}
          >
            <span>{headingText(heading, heading.span * columnPx, isLast(heading))}</span>
          </div>
        ))}
      {runs.slice(from, to + 1).map((run, at) => (
        <HeadColumn
          key={run.key}
          run={run}
          column={from + at}
          left={(from + at) * columnPx}
          tick={ticks.ticks[from + at]!}
          showTick={everyTick || (from + at) % 2 === 0}
          barPx={scale === 0 ? 0 : Math.round(((durations[from + at] ?? 0) / scale) * BAR_PX)}
          took={durations[from + at] ?? null}
          picked={from + at === picked}
          cursor={from + at === cursor}
        />
      ))}
    </div>
  );
}

/** About the width of a letter of a heading, and its padding. */
const LETTER_PX = 6.4;
const PADDING_PX = 8;

/** As much as its columns have room for. */
function headingText({ text, short }: Heading, px: number, isLast: boolean): string {
  const fits = (one: string): boolean => one.length * LETTER_PX + PADDING_PX <= px;
  if (isLast || fits(text)) return text;
  return fits(short) ? short : "";
}

interface ColumnProps {
  readonly run: GridRun;
  readonly column: number;
  readonly left: number;
  readonly tick: Tick;
  readonly showTick: boolean;
  readonly barPx: number;
  readonly took: number | null;
  readonly picked: boolean;
  readonly cursor: boolean;
}

const HeadColumn = memo(function HeadColumn(props: ColumnProps) {
  const { run, column, left, tick, showTick, barPx, took, picked, cursor } = props;
  const look = RUN_LOOK[run.state];
  const label = `Run ${tick.label}: ${look.word}, ${RUN_TYPE_WORD[run.runType]}${took === null ? "" : `, ${formatDuration(took)}`}`;
  return (
    <div
      className={`grid-run${cursor ? " cursor" : ""}${picked ? " picked" : ""}`}
      role="columnheader"
      id={cellId(-1, column)}
      aria-colindex={column + 2}
      aria-label={label}
      data-r={-1}
      data-c={column}
      data-type={run.runType}
      style={{ transform: `translateX(${left}px)` }}
    >
      <span className={showTick ? "tick" : "tick no-room"}>{tick.text}</span>
      <span className="kind">{RUN_TYPE_SIGN[run.runType]}</span>
      <span className="bar-space">
        <span
          className={`bar tone-${look.tone}${barPx > BAR_PX ? " cut" : ""}`}
          style={{ height: Math.min(BAR_PX, Math.max(barPx, took === null ? 0 : 2)) }}
        />
      </span>
      <Mark look={look} />
    </div>
  );
});
