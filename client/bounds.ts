/** What the limits file says of a run that is asked for by hand (B15, B17). */
import { Limited, Refused } from "../core/errors.ts";
import { globMatches } from "../core/glob.ts";
import type { LimitsFile } from "../core/limits-file.ts";
import { spanInWords } from "../core/span-words.ts";
import { isBodyless } from "../core/waits.ts";
import type { DagRow } from "../db/dag-rows.ts";
import type { Rate, Refusal, TriggeredRow } from "../db/triggers.ts";
import type { LoadedVersion } from "../db/versions.ts";

/** Nobody knows when a place comes free: a caller that asks again is to be neither late nor a burden. */
const QUEUED_AGAIN_MS = 10_000;

/** Before a run is made: one whose task asks for too much, or for a queue that is not its own. Throws Refused. */
export function checkTasks(
  dagId: string,
  { graph, cores: coresOf }: LoadedVersion,
  limits: LimitsFile | null,
): void {
  const tasks = graph.tasks.flatMap(({ id, refused }) => (refused === undefined ? [] : [{ id, refused }]));
  if (tasks.length > 0) {
    const more = tasks.length === 1 ? "" : ` (and ${tasks.length - 1} more of its tasks)`;
    throw new Refused(
      "queue_refused",
      `dag "${dagId}" is not run by hand: ${tasks[0]!.refused}${more}; no run was made`,
      { details: { tasks: tasks.map(({ id }) => id) } },
    );
  }
  const cap = limits?.adhoc.maxCores;
  if (cap === undefined) return;
  const most = graph.tasks
    .filter(({ wait }) => !isBodyless(wait))
    .map(({ id }) => ({ id, cores: coresOf.get(id) ?? 1 }))
    .reduce((a, b) => (b.cores > a.cores ? b : a), { id: "", cores: 0 });
  if (most.cores <= cap) return;
  throw new Refused(
    "over_cap",
    `${most.cores} cores asked, cap ${cap}: task "${most.id}" of dag "${dagId}" asks for more than a run by hand may use; ` +
      "give it fewer cores, leave the run to the DAG's schedule, or raise adhoc.maxCores in the limits file; no run was made",
    { details: { taskId: most.id, cores: most.cores, cap } },
  );
}

/** The rates that count a trigger, and what may wait beside it; nothing where the file says nothing. */
export function boundsOf(
  { dag_id: dag, tenant }: Pick<DagRow, "dag_id" | "tenant">,
  caller: string,
  limits: LimitsFile | null,
): Pick<TriggeredRow, "rates" | "most"> {
  if (limits === null) return {};
  const names = { dag, tenant, caller };
  const rates = limits.rates.flatMap(({ per, match, triggers, withinMs }): Rate[] => {
    const name = names[per];
    if (name === null || (match !== undefined && !globMatches(match, name))) return [];
    return [{ key: `${per}:${name}`, triggers, within_ms: withinMs }];
  });
  const { mostRuns, mostRunsPerTenant } = limits.queued;
  const most = {
    ...(mostRuns !== undefined && { dag: mostRuns }),
    ...(mostRunsPerTenant !== undefined &&
      tenant !== null && { tenant: mostRunsPerTenant, tenant_name: tenant }),
  };
  return { ...(rates.length > 0 && { rates }), ...(Object.keys(most).length > 0 && { most }) };
}

/** What a caller over a bound is told. */
export function limitedBy(refusal: Refusal): Limited {
  if (refusal.rule === "queued") {
    const { of, name, waiting, most } = refusal;
    const runs = waiting === 1 ? "1 run waits" : `${waiting} runs wait`;
    return new Limited(
      "too_many_queued",
      `${runs} for a place in ${of} "${name}", and at most ${most} may: trigger again when some have begun; no run was made`,
      QUEUED_AGAIN_MS,
      { of, name, waiting, most },
    );
  }
  const { key, triggers, within_ms: withinMs, again_ms: retryAfterMs } = refusal;
  const cut = key.indexOf(":");
  const [per, name] = [key.slice(0, cut), key.slice(cut + 1)];
  const times = triggers === 1 ? "1 trigger" : `${triggers} triggers`;
  return new Limited(
    "rate_limited",
    `${per} "${name}" may have ${times} in ${spanInWords(withinMs)}, and had them: again in ${spanInWords(retryAfterMs)}; no run was made`,
    retryAfterMs,
    { per, name, triggers, withinMs },
  );
}
