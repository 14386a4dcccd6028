import type { Try } from "../../../api/contracts.ts";
import { StateWord } from "../states/state-mark.tsx";
import { TRY_LOOK } from "../states/tables.ts";
import { formatBytes, formatDuration } from "../time/format.ts";
import { Took, When } from "../time/when.tsx";
import { Deferred, Waited } from "./waited.tsx";

export function TryFacts({ one }: { readonly one: Try }) {
  const { startedAt, endedAt, queuedAt } = one;
  const waited =
    queuedAt !== null && startedAt !== null ? Date.parse(startedAt) - Date.parse(queuedAt) : null;
  return (
    <>
      <dl className="facts">
        <dt>State</dt>
        <dd>
          <StateWord look={TRY_LOOK[one.state]} />
        </dd>
        {one.waited.length > 0 && (
          <>
            <dt>Waited</dt>
            <dd>
              <Waited waited={one.waited} />
            </dd>
          </>
        )}
        {startedAt !== null && (
          <>
            <dt>Started</dt>
            <dd className="number">
              <When at={Date.parse(startedAt)} />
              {waited !== null && waited >= 1000 && (
                <span className="soft"> after waiting {formatDuration(waited)}</span>
              )}
            </dd>
            <dt>{one.state === "deferred" ? "Under way for" : "Ran for"}</dt>
            <dd className="number">
              <Took from={Date.parse(startedAt)} to={endedAt === null ? null : Date.parse(endedAt)} />
              {endedAt === null && one.state !== "deferred" ? " so far" : ""}
            </dd>
          </>
        )}
        {one.waits.some((wait) => wait.state === "ended") && (
          <>
            <dt>Deferred</dt>
            <dd>
              <Deferred waits={one.waits} />
            </dd>
          </>
        )}
        {one.worker !== null && (
          <>
            <dt>Worker</dt>
            <dd>
              <code>{one.worker}</code>
            </dd>
          </>
        )}
      </dl>
      {one.error !== null && <ErrorBlock error={one.error} />}
      {one.stored !== null ? (
        <StoredOutput stored={one.stored} />
      ) : (
        one.output !== null && one.output !== undefined && <Output value={one.output} />
      )}
    </>
  );
}

function ErrorBlock({ error }: { readonly error: NonNullable<Try["error"]> }) {
  return (
    <section className="error-block" aria-label="Error">
      <p>
        <strong>{error.message}</strong> <code className="soft small">{error.code}</code>
      </p>
      {error.stack !== undefined && (
        <details>
          <summary>Stack</summary>
          <pre>{error.stack}</pre>
        </details>
      )}
    </section>
  );
}

/** Too large to stand here. */
function StoredOutput({ stored }: { readonly stored: NonNullable<Try["stored"]> }) {
  return (
    <p>
      <span className="soft">Output of {formatBytes(stored.bytes)}: </span>
      <a href={stored.href} target="_blank" rel="noreferrer">
        open its JSON
      </a>
    </p>
  );
}

/** Longer than this starts folded. */
const SHORT = 400;

function Output({ value }: { readonly value: unknown }) {
  const text = JSON.stringify(value, null, 2);
  return (
    <details className="more" open={text.length <= SHORT}>
      <summary>Output</summary>
      <pre className="block">{text}</pre>
    </details>
  );
}
