import { advisable, adviceOnRun, MANY_INSTANCES } from "../core/advice.ts";
import type { SerialGraph } from "../core/graph.ts";
import type { Db } from "../db/connection.ts";
import { readLastFanOuts } from "../db/read/fan-outs.ts";
import { readRecentVersions, type RecentVersions } from "../db/read/recent-versions.ts";
import type { DagWarning } from "./contracts.ts";

/** Nobody saves one file so often by hand for an hour. */
const VERSIONS_AN_HOUR = 20;
/** From here on an import is no longer prompt: it is done twice, see `ImportLimits.promptMs`. */
const SLOW_IMPORT_MS = 5_000;

/** What is wrong with each of these DAGs though it runs (K62); a DAG without a warning is not in it. */
export async function readWarnings(
  db: Db,
  dagIds: readonly string[],
): Promise<ReadonlyMap<string, DagWarning[]>> {
  if (dagIds.length === 0) return new Map();
  const rows = await readRecentVersions(db, dagIds, VERSIONS_AN_HOUR);
  return new Map(rows.map((row) => [row.dag_id, [pileUp(row)]]));
}

function pileUp({ dag_id, versions, codes }: RecentVersions): DagWarning {
  const many = versions >= 100 ? "100 or more" : String(versions);
  const cause =
    codes * 2 <= versions
      ? "its code did not change as often, so its graph depends on something else: most likely the clock " +
        "(new Date(), Date.now()) or randomness (Math.random(), a new id) at import; take dates from the run's " +
        "interval, and move the rest into a task"
      : "if nobody saved it that often, some tool writes the file anew: make what it writes the same while nothing " +
        "changes";
  return {
    code: "versions_pile_up",
    message: `dag "${dag_id}" got ${many} versions within the last hour: ${cause}. \`meridian validate\` looks for such causes`,
  };
}

/** What its last finished run says of the version in force (D3); a DAG that maps nothing costs no query. */
export async function readAdvice(
  db: Db,
  dagId: string,
  version: number,
  graph: SerialGraph,
): Promise<DagWarning[]> {
  const last = await readLastFanOuts(db, dagId, version, advisable(graph), MANY_INSTANCES);
  const message = last === null ? null : adviceOnRun(graph, last.runId, last.fanOuts);
  return message === null ? [] : [{ code: "fans_out_small", message }];
}

/** What is wrong with a file beside its error. */
export const fileWarnings = (file: string, importMs: number): DagWarning[] =>
  importMs < SLOW_IMPORT_MS
    ? []
    : [
        {
          code: "slow_import",
          message:
            `import of ${file} took ${(importMs / 1000).toFixed(1)} s: every worker thread pays that too; ` +
            "move slow work at the top level into a task",
        },
      ];
