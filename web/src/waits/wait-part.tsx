import { lazy, Suspense, useState } from "react";
import type { DagDetail, RunDetail, TryList } from "../../../api/contracts.ts";
import { instanceName } from "../../../core/instance-name.ts";
import { RUN_DONE, TASK_DONE } from "../../../core/states.ts";
import { useVersion } from "../code/queries.ts";
import type { TaskOf } from "../../../remote/tasks.ts";
import { EndOf } from "./end-of.tsx";
import { useCheckWait } from "./queries.ts";
import { WaitFacts } from "./wait-facts.tsx";
import { isChecked } from "./words.ts";
import "./waits.css";

// Not part of the first load: most who look end nothing.
const EndWaitForm = lazy(async () => ({ default: (await import("./end-wait-form.tsx")).EndWaitForm }));

interface Props {
  readonly dag: DagDetail;
  readonly run: RunDetail;
  readonly list: TryList;
}

/** What a task waits for without a slot, and what can be done about it; nothing, when it does not wait. */
export function WaitPart({ dag, run, list }: Props) {
  const { taskId, mapIndex, state } = list;
  const name = instanceName(list);
  const of = { dagId: dag.dagId, runId: run.runId, taskId, mapIndex };
  const { declared, isRead } = useDeclared(dag, run, list);
  const [isEnding, setEnding] = useState(false);
  /** The wait that was ended here. */
  const [ended, setEnded] = useState<string | null>(null);
  const last = [...list.tries, ...list.notBegun].toSorted((a, b) => a.try - b.try).at(-1);
  const wait = last?.waits.at(-1) ?? null;
  const key = wait === null ? null : `${last?.try} ${wait.wait}`;
  const open = wait?.state === "open" ? wait : null;
  // Somebody may end it before it has begun, once.
  const isToCome =
    declared?.kind === "event" && !TASK_DONE[state] && state !== "deferred" && !RUN_DONE[run.state];
  const isEndedAhead = isToCome && wait !== null && wait.since === null;
  const canEnd = open === null ? isToCome && !isEndedAhead : open.kind === "event";
  const said = ended !== null && (ended === key || key === null);
  if (open === null && !canEnd && !isEndedAhead && !isEnding && !said) return null;
  return (
    <section className="wait-part" aria-label="Wait">
      {open !== null && <WaitFacts wait={open} />}
      {isEndedAhead && (
        <p className="soft">
          Its wait was ahead of its beginning <EndOf wait={wait} />.
        </p>
      )}
      <div className="command-buttons">
        {canEnd && (
          <button type="button" className="button" disabled={!isRead} onClick={() => setEnding(true)}>
            {open === null ? "End its wait ahead …" : "End wait …"}
          </button>
        )}
        {open !== null && isChecked(open.kind) && <CheckNow key={key} of={of} checks={open.checks} />}
      </div>
      <p role="status" className="soft">
        {said && "You ended the wait: its run goes on."}
      </p>
      <Suspense fallback={null}>
        {isEnding && (
          <EndWaitForm
            of={of}
            name={name}
            schema={declared?.kind === "event" ? declared.payload : null}
            wait={wait}
            onClose={() => setEnding(false)}
            onEnded={(one) => {
              setEnding(false);
              setEnded(`${one.try} ${one.wait}`);
            }}
          />
        )}
      </Suspense>
    </section>
  );
}

/** What the run's version says that the task waits for; a body that waits says it to nobody before. */
function useDeclared(dag: DagDetail, run: RunDetail, { taskId, mapIndex, state }: TryList) {
  const isOld = run.version !== dag.version && !TASK_DONE[state];
  const old = useVersion(dag.dagId, isOld ? run.version : null);
  const graph = isOld ? (old.data?.graph ?? null) : dag.graph;
  const task = graph?.tasks.find((one) => one.id === taskId);
  // Of a mapped task each instance has its own.
  const declared = task === undefined || (task.mapped !== null && mapIndex < 0) ? null : (task.wait ?? null);
  return { declared, isRead: !isOld || !old.isPending };
}

/** Has the next check made at once, and says what came of it. */
function CheckNow({ of, checks }: { readonly of: TaskOf; readonly checks: number }) {
  const check = useCheckWait();
  /** How many there had been. */
  const [before, setBefore] = useState<number | null>(null);
  return (
    <>
      <button
        type="button"
        className="button"
        disabled={check.isPending}
        onClick={() => check.mutate(of, { onSuccess: () => setBefore(checks) })}
      >
        Check now
      </button>
      <span role="status" className="soft">
        {check.error === null &&
          before !== null &&
          (checks > before ? "Checked: not yet." : "Its check is due: a worker makes it within a second.")}
      </span>
      {check.error !== null && (
        <span className="wrong" role="alert">
          {check.error.message}
        </span>
      )}
    </>
  );
}
