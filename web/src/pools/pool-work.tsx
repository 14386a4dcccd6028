import type { Pool, PoolWorkItem } from "../../../api/contracts.ts";
import { Link } from "../routing/link.tsx";
import { dagPlace } from "../routing/use-route.ts";
import { Relative } from "../time/when.tsx";
import { Answer } from "../ui/answer.tsx";
import { usePoolWork } from "./pool-changes.ts";

/** Who waits for a pool and why, in the order of their turn, and who holds its slots. */
export function PoolWorkView({ pool }: { readonly pool: Pool }) {
  return (
    <Answer query={usePoolWork(pool.name)} what={`the work of pool ${pool.name}`}>
      {({ holding, waiting }) => (
        <div className="pool-work">
          <WorkList title="Waiting" items={waiting} total={pool.waiting} empty="Nothing waits." />
          <WorkList title="In use" items={holding} total={null} empty="No slot is in use." />
        </div>
      )}
    </Answer>
  );
}

interface Props {
  readonly title: string;
  readonly items: readonly PoolWorkItem[];
  /** null: not known beyond what is shown. */
  readonly total: number | null;
  readonly empty: string;
}

function WorkList({ title, items, total, empty }: Props) {
  return (
    <section aria-label={title}>
      <h2>
        {title} {items.length > 0 && <span className="number">{total ?? items.length}</span>}
      </h2>
      {items.length === 0 ? (
        <p className="soft small">{empty}</p>
      ) : (
        <ol className="work-list">
          {items.map((item) => (
            <WorkLine
              key={`${item.dagId} ${item.runId} ${item.taskId} ${item.mapIndex} ${item.try}`}
              item={item}
            />
          ))}
        </ol>
      )}
      {total !== null && total > items.length && items.length > 0 && (
        <p className="soft small">and {total - items.length} more behind them</p>
      )}
    </section>
  );
}

function WorkLine({ item }: { readonly item: PoolWorkItem }) {
  const { dagId, runId, taskId, mapIndex } = item;
  const index = mapIndex < 0 ? null : mapIndex;
  return (
    <li>
      <span className="work-name">
        <Link to={dagPlace(dagId, { runId, taskId, mapIndex: index })}>
          {dagId} · {taskId}
          {index === null ? "" : `[${index}]`}
        </Link>
        <span className="soft small number">{runId}</span>
      </span>
      <span className="soft small number">
        {item.slots} {item.slots === 1 ? "slot" : "slots"}, priority {item.priority}, since{" "}
        <Relative at={Date.parse(item.since)} />
      </span>
      {item.reason !== null && <span className="work-reason small">{item.reason}</span>}
    </li>
  );
}
