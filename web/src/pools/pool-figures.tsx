import type { Pool } from "../../../api/contracts.ts";
import { formatDuration } from "../time/format.ts";

/** How long a pool makes wait, and whether it keeps up, in all and by priority class. */
export function PoolFigures({ pool }: { readonly pool: Pool }) {
  const { longestWaitMs, p95WaitMs, arrivalsPerMinute: come, grantsPerMinute: go } = pool;
  const facts = [
    longestWaitMs === null
      ? "Nothing waits"
      : `The longest wait is ${formatDuration(longestWaitMs)}, 19 of 20 are below ${formatDuration(p95WaitMs ?? longestWaitMs)}`,
    `${come} come and ${go} are granted a minute, over the last 10 minutes`,
    ...(pool.scheduledFloor > 0 ? [`${pool.scheduledFloor} slots are kept from runs by hand`] : []),
    ...(pool.preempted > 0 ? [`${pool.preempted} tries were asked to give their slots back`] : []),
  ];
  return (
    <>
      <p className="small soft pool-facts">{facts.join(". ")}.</p>
      {pool.classes.length > 0 && (
        <table className="small pool-classes">
          <thead>
            <tr>
              {["Priority class", "Used", "Waiting", "Come a minute", "Granted a minute"].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {pool.classes.map((one) => (
              <tr key={one.class}>
                <th scope="row">{one.class.replace("_", " ")}</th>
                <td>{one.used}</td>
                <td>{one.waiting}</td>
                <td>{one.arrivalsPerMinute}</td>
                <td>{one.grantsPerMinute}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}
