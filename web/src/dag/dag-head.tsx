import type { DagDetail } from "../../../api/contracts.ts";
import { usePause } from "../api/changes.ts";
import { Relative } from "../time/when.tsx";
import { Link } from "../routing/link.tsx";
import { dagPlace } from "../routing/use-route.ts";
import { Switch } from "../ui/switch.tsx";

/** Of a DAG that is not active: what cannot be done, and why. */
export const GONE = "its file is gone or defines it no more";

interface Props {
  readonly dag: DagDetail;
  readonly onTrigger: () => void;
  readonly onPause: () => void;
}

export function DagHead({ dag, onTrigger, onPause }: Props) {
  const pause = usePause();
  return (
    <div className="dag-head">
      <Switch
        on={!dag.paused}
        busy={pause.isPending}
        off={dag.active ? undefined : GONE}
        label={dag.paused ? "Paused; switch it on" : "On; pause it"}
        onChange={(on) => (on ? pause.mutate({ dagId: dag.dagId, paused: false }) : onPause())}
      />
      <h1>
        <Link to={dagPlace(dag.dagId)}>{dag.dagId}</Link>
      </h1>
      {!dag.active && <span className="tag">{GONE}</span>}
      <span className="soft clip" title={dag.description}>
        {dag.schedule}
        {dag.active && !dag.paused && dag.nextDueAt !== null && (
          <>
            {" · next run "}
            <Relative at={Date.parse(dag.nextDueAt)} />
          </>
        )}
      </span>
      <button
        type="button"
        className="button primary"
        disabled={!dag.active}
        onClick={onTrigger}
        title={dag.active ? "Trigger a run (t)" : `Cannot be triggered: ${GONE}`}
      >
        Trigger
      </button>
    </div>
  );
}
