import { memo } from "react";
import type { DagSummary } from "../../../api/contracts.ts";
import { usePause } from "../api/changes.ts";
import { Link } from "../routing/link.tsx";
import { dagPlace } from "../routing/use-route.ts";
import { useNow } from "../time/use-now.ts";
import { Relative, When } from "../time/when.tsx";
import { Switch } from "../ui/switch.tsx";
import { LastRuns } from "./last-runs.tsx";

export const DagRow = memo(function DagRow({ dag }: { readonly dag: DagSummary }) {
  return (
    <tr className={dag.paused ? "paused" : undefined}>
      <td>
        <PauseSwitch dag={dag} />
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
        <div className="clip">{dag.owner}</div>
        <div className="tags">
          {dag.tags.map((tag) => (
            <span key={tag} className="tag">
              {tag}
            </span>
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

function PauseSwitch({ dag }: { readonly dag: DagSummary }) {
  const pause = usePause();
  const on = pause.isPending ? !pause.variables.paused : !dag.paused;
  return (
    <Switch
      on={on}
      busy={pause.isPending}
      label={`${dag.dagId} is ${on ? "on" : "paused"}; ${on ? "pause it" : "switch it on"}`}
      onChange={(next) => pause.mutate({ dagId: dag.dagId, paused: !next })}
    />
  );
}

function NextRun({ dag }: { readonly dag: DagSummary }) {
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
  return (
    <>
      <div>
        <DueIn at={at} />
      </div>
      <div className="soft small">
        <When at={at} seconds={false} />
      </div>
    </>
  );
}

function DueIn({ at }: { readonly at: number }) {
  return useNow() >= at ? <>due now</> : <Relative at={at} />;
}
