import type { DagDetail } from "../../../api/contracts.ts";
import { usePause } from "../api/changes.ts";
import { Relative } from "../time/when.tsx";
import { Link } from "../routing/link.tsx";
import { dagPlace } from "../routing/use-route.ts";
import { Switch } from "../ui/switch.tsx";

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
        label={dag.paused ? "Paused; switch it on" : "On; pause it"}
        onChange={(on) => (on ? pause.mutate({ dagId: dag.dagId, paused: false }) : onPause())}
      />
      <h1>
        <Link to={dagPlace(dag.dagId)}>{dag.dagId}</Link>
      </h1>
      <span className="soft clip" title={dag.description}>
        {dag.schedule}
        {!dag.paused && dag.nextDueAt !== null && (
          <>
            {" · next run "}
            <Relative at={Date.parse(dag.nextDueAt)} />
          </>
        )}
      </span>
      <button type="button" className="button primary" onClick={onTrigger} title="Trigger a run (t)">
        Trigger
      </button>
    </div>
  );
}
