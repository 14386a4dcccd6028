import { memo } from "react";
import type { DagSummary } from "../../../api/contracts.ts";
import { usePause } from "../api/changes.ts";
import { GONE } from "../dag/dag-head.tsx";
import { Link } from "../routing/link.tsx";
import type { DagListView, Place } from "../routing/route.ts";
import { dagPlace } from "../routing/use-route.ts";
import { formatInterval } from "../time/format.ts";
import { useNow } from "../time/use-now.ts";
import { Relative, When } from "../time/when.tsx";
import { useZone } from "../time/zone.tsx";
import { Switch } from "../ui/switch.tsx";
import { LastRuns } from "./last-runs.tsx";

interface Props {
  readonly dag: DagSummary;
  readonly list: DagListView;
  /** It is to be paused: someone may say why. */
  readonly onPause: (dagId: string) => void;
}

export const DagRow = memo(function DagRow({ dag, list, onPause }: Props) {
  const tagged = (tag: string): Place => ({
    page: "dags",
    list: { ...list, tags: [...new Set([...list.tags, tag])] },
  });
  return (
    <tr className={dag.paused ? "paused" : undefined}>
      <td>
        <PauseSwitch dag={dag} onPause={onPause} />
      </td>
      <th scope="row">
        <Link to={dagPlace(dag.dagId)} className="dag-id">
          {dag.dagId}
        </Link>
        {dag.importError && <span className="tag bad">import error</span>}
        {!dag.active && <span className="tag">file is gone</span>}
        <div className="soft small clip" title={dag.description}>
          {dag.description}
        </div>
      </th>
      <td className="clip" title={dag.schedule}>
        {dag.schedule}
      </td>
      <td>
        <div className="clip">
          {dag.owner !== "" && (
            <Link to={{ page: "dags", list: { ...list, owner: dag.owner } }} className="quiet">
              {dag.owner}
            </Link>
          )}
        </div>
        <div className="tags" title={dag.tags.join(", ")}>
          {dag.tags.map((tag) => (
            <Link key={tag} to={tagged(tag)} className="tag">
              {tag}
            </Link>
          ))}
        </div>
      </td>
      <td>
        <LastRuns dagId={dag.dagId} runs={dag.lastRuns} />
      </td>
      <td className="number">
        <NextRun dag={dag} />
      </td>
    </tr>
  );
});

function PauseSwitch({ dag, onPause }: Pick<Props, "dag" | "onPause">) {
  const pause = usePause();
  const on = pause.isPending || !dag.paused;
  return (
    <Switch
      on={on}
      busy={pause.isPending}
      label={`${dag.dagId} is ${on ? "on" : "paused"}; ${on ? "pause it" : "switch it on"}`}
      off={dag.active ? undefined : `${dag.dagId}: ${GONE}`}
      onChange={(next) => (next ? pause.mutate({ dagId: dag.dagId, paused: false }) : onPause(dag.dagId))}
    />
  );
}

function NextRun({ dag }: { readonly dag: DagSummary }) {
  const { zone } = useZone();
  if (dag.paused) {
    return (
      <div className="soft">
        paused
        <div className="small clip" title={dag.pauseReason ?? undefined}>
          {dag.pauseReason}
        </div>
      </div>
    );
  }
  if (dag.nextDueAt === null) return <span className="soft">none due</span>;
  const at = Date.parse(dag.nextDueAt);
  const { nextInterval } = dag;
  const about =
    nextInterval === null
      ? undefined
      : `About ${formatInterval(Date.parse(nextInterval.start), Date.parse(nextInterval.end), zone)}`;
  return (
    <>
      <div>
        <DueIn at={at} />
      </div>
      <div className="soft small" title={about}>
        <When at={at} seconds={false} />
      </div>
    </>
  );
}

function DueIn({ at }: { readonly at: number }) {
  return useNow() >= at ? <>due now</> : <Relative at={at} />;
}
