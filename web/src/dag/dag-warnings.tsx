import type { DagDetail } from "../../../api/contracts.ts";
import { usePause } from "../api/changes.ts";
import { Link } from "../routing/link.tsx";
import { Banner } from "../ui/banner.tsx";

/** What an operator must know before reading the grid. */
export function DagWarnings({ dag }: { readonly dag: DagDetail }) {
  const pause = usePause();
  return (
    <>
      {dag.importError && (
        <Banner tone="bad">
          <Link to={{ page: "import-errors", file: dag.file }}>{dag.file} does not load</Link>; the last good
          version keeps running.
        </Banner>
      )}
      {dag.warnings.map(({ code, message }) => (
        <Banner key={code} tone="warn">
          {message}
        </Banner>
      ))}
      {!dag.active && (
        <Banner tone="warn">
          No file defines this DAG any more ({dag.file}). Its runs stay readable; no new ones are made.
        </Banner>
      )}
      {dag.paused && (
        <Banner tone="warn">
          Paused{dag.pausedBy === null ? "" : ` by ${dag.pausedBy}`}
          {dag.pauseReason === null ? "" : `: ${dag.pauseReason}`}. No scheduled runs start.{" "}
          <button
            type="button"
            className="as-link"
            onClick={() => pause.mutate({ dagId: dag.dagId, paused: false })}
          >
            Switch it on
          </button>
        </Banner>
      )}
    </>
  );
}
