/** What the waits of a local run are to be ended with, checked before anything runs. */
import { Refused } from "../core/errors.ts";
import { paramErrorsText } from "../core/params.ts";
import { didYouMean } from "../core/suggest.ts";
import { asJson } from "./local-context.ts";
import type { Dag } from "./registry.ts";

const INSTANCE = /^(.+)\[\d+\]$/;

/** A copy of its own, as it would arrive. */
export async function checkEvents(
  dag: Dag,
  events: Readonly<Record<string, unknown>>,
): Promise<Readonly<Record<string, unknown>>> {
  const checked: Record<string, unknown> = {};
  for (const [name, given] of Object.entries(events)) {
    const taskId = checkName(dag, name, "event");
    const payload = asJson(`event "${name}"`, given);
    const errors = await dag.payloadErrors(taskId, payload);
    if (errors.length > 0) {
      throw new Refused(
        "bad_payload",
        `event "${name}" does not fit the payload of task "${taskId}" of dag "${dag.id}": ${paramErrorsText(errors)}`,
        { details: { errors } },
      );
    }
    checked[name] = payload;
  }
  return checked;
}

export function checkOtherRuns(dag: Dag, otherRuns: Readonly<Record<string, unknown>>): void {
  for (const [name, went] of Object.entries(otherRuns)) {
    checkName(dag, name, "run");
    if (went === "success" || went === "failed") continue;
    throw new Refused(
      "bad_value",
      `otherRuns: "${name}" is ${JSON.stringify(went)}; expected "success" or "failed"`,
    );
  }
}

/** The task meant, by its id or the name of an instance. */
function checkName({ graph }: Dag, name: string, what: "event" | "run"): string {
  // A body may wait for an event too.
  const takes = graph.tasks.filter(
    ({ wait }) => (what === "event" && wait === undefined) || wait?.kind === what,
  );
  const ids = takes.map(({ id }) => id);
  const id = INSTANCE.exec(name)?.[1] ?? name;
  if (ids.includes(id)) return id;
  const known = graph.tasks.some((task) => task.id === id);
  const reason = known
    ? `task "${id}" waits for something else`
    : `it has no task "${id}"${didYouMean(id, ids)}`;
  throw new Refused(
    what === "event" ? "unknown_event" : "unknown_run",
    `${what === "event" ? "event" : "otherRuns:"} "${name}": nothing in dag "${graph.dagId}" waits for it: ${reason}`,
  );
}
