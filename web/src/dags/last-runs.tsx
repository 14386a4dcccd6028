import type { LastRun } from "../../../api/contracts.ts";
import { Link } from "../routing/link.tsx";
import { dagPlace } from "../routing/use-route.ts";
import { Mark } from "../states/state-mark.tsx";
import { RUN_LOOK } from "../states/tables.ts";
import { formatRunDate } from "../time/format.ts";
import { useZone } from "../time/zone.tsx";

/** The last runs as small marks, newest right; each opens its run. */
export function LastRuns({ dagId, runs }: { readonly dagId: string; readonly runs: readonly LastRun[] }) {
  const { zone } = useZone();
  if (runs.length === 0) return <span className="soft">no runs yet</span>;
  return (
    <div className="last-runs">
      {runs.map((run) => {
        const label = `${formatRunDate(Date.parse(run.logicalDate), zone)}: ${RUN_LOOK[run.state].word}`;
        return (
          <Link
            key={run.runId}
            to={dagPlace(dagId, { runId: run.runId })}
            aria-label={`Run ${label}`}
            title={label}
          >
            <Mark look={RUN_LOOK[run.state]} />
          </Link>
        );
      })}
    </div>
  );
}
