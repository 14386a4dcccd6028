import type { TryWait } from "../../../api/contracts-waits.ts";
import { Link } from "../routing/link.tsx";
import { dagPlace } from "../routing/use-route.ts";
import { formatSetting } from "../time/format.ts";
import { Relative, When } from "../time/when.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { isChecked } from "./words.ts";

/** What is known of a wait that is open, beside the reason that says what it is. */
export function WaitFacts({ wait }: { readonly wait: TryWait }) {
  const { since, until, dueAt, other, url, kind } = wait;
  return (
    <dl className="facts">
      {since !== null && <Instant name="Waits since" at={since} />}
      {until !== null && <Instant name="Time-out" at={until} />}
      {dueAt !== null && <Instant name="Its time" at={dueAt} />}
      {other !== null && (
        <>
          <dt>Other run</dt>
          <dd className="number">
            <Link to={dagPlace(other.dagId, { runId: other.runId, taskId: other.taskId })}>
              {other.dagId} · {other.runId}
              {other.taskId === null ? "" : ` · ${other.taskId}`}
            </Link>
          </dd>
        </>
      )}
      {isChecked(kind) && <Checks wait={wait} />}
      {url !== null && (
        <>
          <dt>Address</dt>
          <dd className="wait-address">
            <code title={url}>{url}</code>
            <CopyButton label="copy" text={() => url} />
            <span className="help soft small">Whoever posts to it ends the wait: keep it to yourself</span>
          </dd>
        </>
      )}
    </dl>
  );
}

function Instant({ name, at }: { readonly name: string; readonly at: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd className="number">
        <When at={Date.parse(at)} />{" "}
        <span className="soft">
          (<Relative at={Date.parse(at)} />)
        </span>
      </dd>
    </>
  );
}

function Checks({ wait: { checks, everyMs, lastCheckAt, nextCheckAt } }: { readonly wait: TryWait }) {
  return (
    <>
      <dt>Checks</dt>
      <dd className="number">
        {checks}
        {everyMs !== null && `, every ${formatSetting(everyMs)}`}
      </dd>
      {lastCheckAt !== null && <Instant name="Last check" at={lastCheckAt} />}
      {nextCheckAt !== null && <Instant name="Next check" at={nextCheckAt} />}
    </>
  );
}
