import type { Waiting } from "../../../api/contracts.ts";
import { remedyOf } from "../../../remote/run-words.ts";
import { Link } from "../routing/link.tsx";
import { Reason } from "../time/reason.tsx";
import { Relative } from "../time/when.tsx";

/** Why a run or a try has not begun. */
export function WaitingNote({ waiting }: { readonly waiting: Waiting }) {
  const remedy = remedyOf(waiting);
  // What it waits for without a slot is said by what it does.
  const own = /^waits (.*)$/s.exec(waiting.reason ?? "")?.[1];
  const slots = `${waiting.slots} ${waiting.slots === 1 ? "slot" : "slots"}`;
  return (
    <p className="why">
      <strong>{own === undefined ? "Why it waits: " : "Waits "}</strong>
      {(waiting.reason !== null && <Reason text={own ?? waiting.reason} />) ||
        (waiting.pool === null ? "as many runs of the DAG are active as it allows" : `${slots} asked for`)}
      {remedy !== null && `: ${remedy}`}
      {waiting.pool !== null && (
        <>
          {" · "}
          <Link to={{ page: "pools" }}>{waiting.pool}</Link>
        </>
      )}
      <span className="soft">
        {" · since "}
        <Relative at={Date.parse(waiting.since)} />
      </span>
    </p>
  );
}
