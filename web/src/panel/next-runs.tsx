import { useNextRuns } from "../api/queries.ts";
import { formatInterval } from "../time/format.ts";
import { Relative, When } from "../time/when.tsx";
import { useZone } from "../time/zone.tsx";

/** When the coming runs are due, and what they will be about. */
export function NextRuns({ dagId, paused }: { readonly dagId: string; readonly paused: boolean }) {
  const { data } = useNextRuns(dagId);
  const { zone } = useZone();
  if (data === undefined || data.runs.length === 0) return null;
  return (
    <section aria-label="Coming runs">
      <h3>Coming runs{paused ? ", once it is switched on" : ""}</h3>
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
