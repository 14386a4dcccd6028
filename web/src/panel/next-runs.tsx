import type { DagDetail } from "../../../api/contracts.ts";
import { useNextRuns } from "../api/queries.ts";
import { formatInterval } from "../time/format.ts";
import { Relative, When } from "../time/when.tsx";
import { useZone } from "../time/zone.tsx";

/** When the coming runs are due, and what they will be about. While the DAG is paused there are none. */
export function NextRuns({ dag }: { readonly dag: DagDetail }) {
  const { data } = useNextRuns(dag);
  const { zone } = useZone();
  if (dag.paused || data === undefined || data.runs.length === 0) return null;
  return (
    <section aria-label="Coming runs">
      <h3>Coming runs</h3>
      <table className="mini coming">
        <thead>
          <tr>
            <th scope="col">Due</th>
            <th scope="col">
              <span className="visually-hidden">Due in</span>
            </th>
            <th scope="col">About</th>
          </tr>
        </thead>
        <tbody>
          {data.runs.map((run) => (
            <tr key={run.logicalDate} className="number">
              <td>
                <When at={Date.parse(run.dueAt)} seconds={false} />
              </td>
              <td className="soft">
                <Relative at={Date.parse(run.dueAt)} />
              </td>
              <td>
                <About
                  text={formatInterval(Date.parse(run.interval.start), Date.parse(run.interval.end), zone)}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Where there is no room it breaks between its ends, never within a date. */
function About({ text }: { readonly text: string }) {
  const [start = "", end] = text.split(" → ");
  return (
    <>
      <span className="whole">{end === undefined ? start : `${start} →`}</span>{" "}
      {end !== undefined && <span className="whole">{end}</span>}
    </>
  );
}
