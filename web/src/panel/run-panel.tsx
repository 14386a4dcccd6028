import type { ReactNode } from "react";
import type { Cell, DagDetail, RunDetail } from "../../../api/contracts.ts";
import { RUN_DONE, TASK_STATES, type TaskState } from "../../../core/states.ts";
import { isImpossible } from "../../../remote/run-words.ts";
import { useRun } from "../api/queries.ts";
import { CommandButtons } from "../command/command-buttons.tsx";
import { versionsOf } from "../command/wishes.ts";
import { Link } from "../routing/link.tsx";
import type { DagView } from "../routing/route.ts";
import { dagPlace } from "../routing/use-route.ts";
import { StateWord } from "../states/state-mark.tsx";
import { RUN_LOOK, RUN_TYPE_WORD, TASK_LOOK } from "../states/tables.ts";
import { formatRunDate, formatInterval } from "../time/format.ts";
import { Took, When } from "../time/when.tsx";
import { useZone } from "../time/zone.tsx";
import { Answer } from "../ui/answer.tsx";
import { CellLink } from "./cell-link.tsx";
import { PanelHead } from "./panel-head.tsx";
import { RunTasks } from "./run-tasks.tsx";
import { TemporalLink } from "./temporal-link.tsx";
import { WaitingNote } from "./waiting-note.tsx";

interface Props {
  readonly dag: DagDetail;
  readonly runId: string;
  readonly view: DagView;
}

/** More than this many is what the grid is for. */
const SEEN = 12;
const UNDER_WAY: ReadonlySet<TaskState> = new Set(["running", "queued", "up_for_retry", "deferred"]);

export function RunPanel({ dag, runId, view }: Props) {
  const query = useRun(dag.dagId, runId);
  const run = query.data;
  const { zone } = useZone();
  const title = run === undefined ? runId : `Run ${formatRunDate(Date.parse(run.logicalDate), zone)}`;
  return (
    <>
      <PanelHead dagId={dag.dagId} view={view} title={title}>
        {run !== undefined && <TemporalLink url={run.temporalUrl} />}
      </PanelHead>
      <Answer query={query} what={`run ${runId}`}>
        {(data) => <RunBody dag={dag} run={data} view={view} />}
      </Answer>
    </>
  );
}

interface RunProps {
  readonly dag: DagDetail;
  readonly run: RunDetail;
  readonly view: DagView;
}

function RunBody({ dag, run, view }: RunProps) {
  const { zone } = useZone();
  const look = RUN_LOOK[run.state];
  // Tasks without a cell are known only as far as the run has the version the page knows.
  const asked = new Set(run.cells.map((cell) => cell.taskId));
  const known = run.version === dag.version ? (dag.graph?.tasks ?? []) : [];
  const unasked = known.filter((task) => !asked.has(task.id)).length;
  const why = run.state === "failed" && run.reason === null ? failureOf(dag, run, view) : null;
  const ownWait = run.waiting.find((one) => one.taskId === null);
  const conf = Object.keys(run.conf).length === 0 ? null : JSON.stringify(run.conf, null, 2);
  return (
    <>
      <p className="state-line">
        <StateWord look={look} />
        <span className="soft">
          {why === null && run.reason === null ? (waitsOf(run) ?? look.meaning) : ""}
        </span>
      </p>
      <CommandButtons
        of={{ dagId: dag.dagId, runId: run.runId }}
        about="the run"
        versions={versionsOf(dag, run)}
        priority={RUN_DONE[run.state] ? null : run.priority}
      />
      {why}
      {run.reason !== null && (
        <p className={run.state === "failed" ? "why bad" : "why"}>
          <strong>{run.state === "failed" ? "Why it failed: " : "Why: "}</strong>
          {run.reason}
        </p>
      )}
      {ownWait !== undefined && ownWait.reason !== run.reason && <WaitingNote waiting={ownWait} />}
      <dl className="facts">
        <dt>Interval</dt>
        <dd className="number">
          {formatInterval(Date.parse(run.interval.start), Date.parse(run.interval.end), zone)}
        </dd>
        <dt>Kind</dt>
        <dd>
          {RUN_TYPE_WORD[run.runType]}
          {run.triggeredBy === null || run.runType === "scheduled" ? "" : ` (${run.triggeredBy})`}
        </dd>
        <dt>Queued</dt>
        <dd className="number">
          <When at={Date.parse(run.queuedAt)} />
        </dd>
        {run.startedAt !== null && (
          <>
            <dt>Started</dt>
            <dd className="number">
              <When at={Date.parse(run.startedAt)} />
            </dd>
            <dt>Took</dt>
            <dd className="number">
              <Took
                from={Date.parse(run.startedAt)}
                to={run.endedAt === null ? null : Date.parse(run.endedAt)}
              />
              {run.endedAt === null ? " so far" : ""}
            </dd>
          </>
        )}
        {run.priority !== 0 && (
          <>
            <dt>Priority</dt>
            <dd className="number">{run.priority > 0 ? `+${run.priority}` : run.priority} by hand</dd>
          </>
        )}
        <dt>Version</dt>
        <dd>
          <Link to={dagPlace(dag.dagId, { ...view, show: "code", version: run.version, against: null })}>
            {run.version}
          </Link>
        </dd>
        <dt>Run id</dt>
        <dd>
          <code>{run.runId}</code>
        </dd>
      </dl>
      <TaskTally cells={run.cells} unasked={unasked} />
      {view.show !== "details" && <TasksToSee dag={dag} run={run} view={view} />}
      {conf !== null && (
        <>
          <h3>Conf</h3>
          <pre className="block">{conf}</pre>
        </>
      )}
      {view.show === "details" && <RunTasks dag={dag} run={run} view={view} />}
    </>
  );
}

/** That a run has begun and none of its tasks is at work, and whether that will change by itself; null: it is not so. */
function waitsOf({ state, cells, waiting }: RunDetail): string | null {
  if (state !== "running" || cells.some((cell) => cell.state === "running")) return null;
  const waits = cells.filter((cell) => UNDER_WAY.has(cell.state)).length;
  if (waits === 0) return null;
  const never = waiting.filter((one) => one.taskId !== null && isImpossible(one.reason)).length;
  const tasks = `${waits} ${waits === 1 ? "task" : "tasks"}`;
  if (never === 0) return `${tasks} ${waits === 1 ? "waits" : "wait"}`;
  return never >= waits ? `Waits: ${tasks} can never run` : `${tasks} wait; ${never} of them can never run`;
}

/** How many tasks are in which state; `unasked` ones have no cell yet. */
function TaskTally({ cells, unasked }: { readonly cells: readonly Cell[]; readonly unasked: number }) {
  const count = (state: TaskState): number =>
    cells.filter((cell) => cell.state === state).length + (state === "none" ? unasked : 0);
  return (
    <ul className="tally" aria-label="Tasks by state">
      {TASK_STATES.filter((state) => count(state) > 0).map((state) => (
        <li key={state}>
          <StateWord look={TASK_LOOK[state]} />
          <span className="number">{count(state)}</span>
        </li>
      ))}
    </ul>
  );
}

/** More than these make no sentence. */
const NAMED = 3;

/** The tasks that failed, by name; null: none did, as far as is known. */
function failureOf(dag: DagDetail, run: RunDetail, view: DagView): ReactNode {
  const failed = run.cells.filter((cell) => cell.state === "failed");
  if (failed.length === 0) return null;
  return (
    <p className="why bad">
      <strong>Why it failed: </strong>
      {failed.slice(0, NAMED).map((cell, at) => (
        <span key={`${cell.taskId} ${cell.mapIndex}`}>
          {at > 0 && ", "}
          <CellLink dag={dag} cell={cell} view={view} />
        </span>
      ))}
      {failed.length > NAMED && ` and ${failed.length - NAMED} more`} failed
    </p>
  );
}

/** The tasks that want eyes: failed ones first, then what runs or waits, with why; each in the order of the grid. */
function TasksToSee({ dag, run, view }: RunProps) {
  const rank = (cell: Cell): number => (cell.state === "failed" ? 0 : UNDER_WAY.has(cell.state) ? 1 : 2);
  const places = new Map(dag.graph?.tasks.map((task, at) => [task.id, at]));
  const placeOf = (cell: Cell): number => places.get(cell.taskId) ?? places.size;
  const cells = run.cells
    .filter((cell) => rank(cell) < 2)
    .toSorted((a, b) => rank(a) - rank(b) || placeOf(a) - placeOf(b) || a.mapIndex - b.mapIndex);
  if (cells.length === 0) return null;
  return (
    <ul className="to-see" aria-label="Failed, running and waiting tasks">
      {cells.slice(0, SEEN).map((cell) => {
        const wait = run.waiting.find((one) => one.taskId === cell.taskId && one.mapIndex === cell.mapIndex);
        return (
          <li key={`${cell.taskId} ${cell.mapIndex}`}>
            <CellLink dag={dag} cell={cell} view={view} />
            <StateWord look={TASK_LOOK[cell.state]} />
            {wait !== undefined && <WaitingNote waiting={wait} />}
          </li>
        );
      })}
      {cells.length > SEEN && <li className="soft">and {cells.length - SEEN} more, in the grid</li>}
    </ul>
  );
}
