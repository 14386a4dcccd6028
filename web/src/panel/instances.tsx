import { useState } from "react";
import type { Cell, RunDetail } from "../../../api/contracts.ts";
import { instanceName } from "../../../core/instance-name.ts";
import { TASK_STATES, type TaskState } from "../../../core/states.ts";
import { Link } from "../routing/link.tsx";
import type { DagView } from "../routing/route.ts";
import { dagPlace } from "../routing/use-route.ts";
import { StateWord } from "../states/state-mark.tsx";
import { TASK_LOOK } from "../states/tables.ts";
import { Reason } from "../time/reason.tsx";
import { Choice } from "../ui/choice.tsx";
import { MapPicker } from "./map-picker.tsx";

interface Props {
  readonly dagId: string;
  readonly run: RunDetail;
  readonly instances: readonly Cell[];
  readonly picked: number | null;
  readonly view: DagView;
}

/** More are counted; each can be picked. */
const SHOWN = 200;

/** The instances of a mapped task: how many are in which state, which they are, and what each waits for. */
export function Instances({ dagId, run, instances, picked, view }: Props) {
  const [state, setState] = useState<TaskState | null>(null);
  const states = TASK_STATES.filter((one) => instances.some((cell) => cell.state === one));
  // A state that nobody is in any more filters nothing.
  const chosen = state !== null && states.includes(state) ? state : null;
  const shown = instances
    .filter((cell) => chosen === null || cell.state === chosen)
    .toSorted((a, b) => a.mapIndex - b.mapIndex);
  const whys = new Map(
    run.waiting.filter((one) => one.taskId === view.taskId).map((one) => [one.mapIndex, one.reason]),
  );
  const count = (one: TaskState | null): number =>
    one === null ? instances.length : instances.filter((cell) => cell.state === one).length;
  return (
    <section className="instances" aria-label="Instances">
      <MapPicker instances={instances} picked={picked} />
      <Choice label="Instances by state" values={[null, ...states]} chosen={chosen} onChoose={setState}>
        {(one) => (
          <>
            {one === null ? "all" : <StateWord look={TASK_LOOK[one]} />}{" "}
            <span className="number">{count(one)}</span>
          </>
        )}
      </Choice>
      <details className="more">
        <summary>List of them</summary>
        <ul className="instance-list" aria-label="List of instances">
          {shown.slice(0, SHOWN).map((cell) => (
            <li key={cell.mapIndex}>
              <Link
                to={dagPlace(dagId, { ...view, mapIndex: cell.mapIndex, tryNumber: null })}
                aria-current={cell.mapIndex === picked ? "true" : undefined}
                className="number"
              >
                {instanceName(cell)}
              </Link>
              <StateWord look={TASK_LOOK[cell.state]} />
              <Why reason={whys.get(cell.mapIndex) ?? null} />
            </li>
          ))}
          {shown.length > SHOWN && <li className="soft">and {shown.length - SHOWN} more</li>}
        </ul>
      </details>
    </section>
  );
}

function Why({ reason }: { readonly reason: string | null }) {
  if (reason === null) return null;
  return (
    <span className="soft small">
      <Reason text={reason} />
    </span>
  );
}
