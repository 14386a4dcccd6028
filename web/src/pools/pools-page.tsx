import type { Pool } from "../../../api/contracts.ts";
import { usePools } from "../api/queries.ts";
import { Link } from "../routing/link.tsx";
import { dagPlace } from "../routing/use-route.ts";
import { Answer } from "../ui/answer.tsx";
import { Notice } from "../ui/notice.tsx";

export function PoolsPage() {
  return (
    <Answer query={usePools()} what="pools">
      {({ pools }) => <PoolTable pools={pools} />}
    </Answer>
  );
}

function PoolTable({ pools }: { readonly pools: readonly Pool[] }) {
  if (pools.length === 0) return <Notice title="No pools">Tasks that name no pool use default_pool.</Notice>;
  return (
    <>
      <div className="list-head">
        <h1>Pools</h1>
        <span className="soft number">{pools.length}</span>
      </div>
      <table className="sheet pools">
        <thead>
          <tr>
            <th scope="col">Pool</th>
            <th scope="col">Use</th>
            <th scope="col" className="figure">
              Used
            </th>
            <th scope="col" className="figure">
              Slots
            </th>
            <th scope="col" className="figure">
              Free
            </th>
            <th scope="col" className="figure">
              Waiting
            </th>
          </tr>
        </thead>
        <tbody>
          {pools.map((pool) => (
            <PoolRow key={pool.name} pool={pool} />
          ))}
        </tbody>
      </table>
    </>
  );
}

function PoolRow({ pool }: { readonly pool: Pool }) {
  const waiting = pool.waiting === 0 ? "0" : `${pool.waiting} (${pool.waitingSlots} slots)`;
  return (
    <tr>
      <th scope="row">
        <strong>{pool.name}</strong>
        {!pool.exists && <span className="tag bad">does not exist</span>}
        <div className="soft small">
          {pool.exists
            ? pool.description
            : "Tasks name it and wait; make the pool or rename it in the DAG file."}
        </div>
        {pool.impossible.map((one) => (
          <div key={`${one.dagId} ${one.runId} ${one.taskId} ${one.mapIndex}`} className="small bad-text">
            <Link to={dagPlace(one.dagId, { runId: one.runId, taskId: one.taskId })}>
              {one.dagId} {one.taskId}
            </Link>{" "}
            {one.reason}
          </div>
        ))}
      </th>
      <td>
        <meter
          min={0}
          max={Math.max(pool.slots, 1)}
          value={Math.min(pool.used, pool.slots)}
          aria-label={`${pool.name} in use`}
        />
      </td>
      <td className="figure">{pool.used}</td>
      <td className="figure">{pool.slots}</td>
      <td className="figure">{pool.free}</td>
      <td className={`figure${pool.waiting > 0 ? " busy" : ""}`}>{waiting}</td>
    </tr>
  );
}
