import { useState } from "react";
import type { Pool } from "../../../api/contracts.ts";
import { DialPart } from "../dial/dial-part.tsx";
import { usePools } from "../api/queries.ts";
import { Link } from "../routing/link.tsx";
import { dagPlace, goTo, useRoute } from "../routing/use-route.ts";
import { formatDuration } from "../time/format.ts";
import { Answer } from "../ui/answer.tsx";
import { Notice } from "../ui/notice.tsx";
import { DeletePool, EditPool } from "./pool-dialogs.tsx";
import { PoolFigures } from "./pool-figures.tsx";
import { PoolWorkView } from "./pool-work.tsx";
import { TenantsPart } from "./tenants-part.tsx";

/** As in core/ids.ts; the API never deletes it. */
const DEFAULT_POOL = "default_pool";

type Asked =
  | { readonly kind: "edit"; readonly pool: Pool | null }
  | { readonly kind: "delete"; readonly pool: Pool };

export function PoolsView() {
  const [asked, setAsked] = useState<Asked | null>(null);
  const close = (): void => setAsked(null);
  return (
    <Answer query={usePools()} what="pools">
      {(pools) => (
        <>
          <div className="list-head">
            <h1>Pools</h1>
            <span className="soft number">{pools.length}</span>
            <span className="gap" />
            <button
              type="button"
              className="button primary"
              onClick={() => setAsked({ kind: "edit", pool: null })}
            >
              New pool
            </button>
          </div>
          <DialPart />
          {pools.length === 0 ? (
            <Notice title="No pools">Tasks that name no pool use {DEFAULT_POOL}.</Notice>
          ) : (
            <PoolTable pools={pools} onAsk={setAsked} />
          )}
          <TenantsPart />
          {asked?.kind === "edit" && <EditPool pool={asked.pool} onClose={close} />}
          {asked?.kind === "delete" && <DeletePool pool={asked.pool} onClose={close} />}
        </>
      )}
    </Answer>
  );
}

interface TableProps {
  readonly pools: readonly Pool[];
  readonly onAsk: (asked: Asked) => void;
}

const FIGURES = ["Used", "Slots", "Free", "Waiting"] as const;

function PoolTable({ pools, onAsk }: TableProps) {
  const { place } = useRoute();
  const open = place.page === "pools" ? (place.open ?? null) : null;
  return (
    <div className="pools-scroll">
      <table className="sheet pools">
        <thead>
          <tr>
            <th scope="col">Pool</th>
            <th scope="col">Use</th>
            {FIGURES.map((figure) => (
              <th key={figure} scope="col" className="figure">
                {figure}
              </th>
            ))}
            <th scope="col">
              <span className="visually-hidden">Change</span>
            </th>
          </tr>
        </thead>
        {pools.map((pool) => (
          <PoolRows key={pool.name} pool={pool} open={pool.name === open} onAsk={onAsk} />
        ))}
      </table>
    </div>
  );
}

interface RowProps {
  readonly pool: Pool;
  readonly open: boolean;
  readonly onAsk: (asked: Asked) => void;
}

function PoolRows({ pool, open, onAsk }: RowProps) {
  const waiting =
    pool.waiting === 0
      ? "0"
      : `${pool.waiting} (${pool.waitingSlots} ${pool.waitingSlots === 1 ? "slot" : "slots"})`;
  return (
    <tbody>
      <tr>
        <th scope="row">
          <button
            type="button"
            className="as-link pool-name"
            aria-expanded={open}
            title={open ? "Hide its work" : "Show who holds its slots and who waits"}
            onClick={() => goTo(open ? { page: "pools" } : { page: "pools", open: pool.name }, true)}
          >
            <span aria-hidden="true">{open ? "▾" : "▸"}</span> {pool.name}
          </button>
          {!pool.exists && <span className="tag bad">does not exist</span>}
          <div className="soft small pool-note">
            {pool.exists
              ? pool.description
              : "Tasks name it and wait; make the pool or rename it in the DAG file."}
          </div>
          {pool.impossible.map((one) => (
            <div
              key={`${one.dagId} ${one.runId} ${one.taskId} ${one.mapIndex}`}
              className="small bad-text pool-note"
            >
              <Link
                to={dagPlace(one.dagId, {
                  runId: one.runId,
                  taskId: one.taskId,
                  mapIndex: one.mapIndex < 0 ? null : one.mapIndex,
                })}
              >
                {one.dagId} {one.taskId}
                {one.mapIndex < 0 ? "" : `[${one.mapIndex}]`}
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
        <td className={`figure${pool.waiting > 0 ? " busy" : ""}`}>
          {waiting}
          {pool.longestWaitMs !== null && (
            <div className="soft small">for {formatDuration(pool.longestWaitMs)}</div>
          )}
        </td>
        <td className="acts">
          <button
            type="button"
            className="button"
            aria-label={`${pool.exists ? "Edit" : "Make"} ${pool.name}`}
            onClick={() => onAsk({ kind: "edit", pool })}
          >
            {pool.exists ? "Edit" : "Make"}
          </button>
          {pool.exists && pool.name !== DEFAULT_POOL && (
            <button
              type="button"
              className="button"
              aria-label={`Delete ${pool.name}`}
              onClick={() => onAsk({ kind: "delete", pool })}
            >
              Delete
            </button>
          )}
        </td>
      </tr>
      {open && (
        <tr className="work-row">
          <td colSpan={7}>
            <PoolFigures pool={pool} />
            <PoolWorkView pool={pool} />
          </td>
        </tr>
      )}
    </tbody>
  );
}
