/** Waits without a body in a local run: they end at once, with what the test says. */
import { isoOf } from "../core/calendar/dates.ts";
import { tellOf } from "../core/decision.ts";
import { MeridianError } from "../core/errors.ts";
import type { TemplateValues } from "../core/templates.ts";
import { otherRun, untilAt } from "../core/wait-times.ts";
import type { SerialWait, WaitEnd } from "../core/waits.ts";
import type { Begun, WaitHost } from "./local-wait-types.ts";

type Begin<K extends SerialWait["kind"]> = (
  host: WaitHost,
  begun: Begun,
  wait: Extract<SerialWait, { kind: K }>,
) => void;

export const WITHOUT_BODY: { readonly [K in SerialWait["kind"]]: Begin<K> } = {
  // It has a body, and that says what is waited for.
  sensor: () => undefined,
  event: (host, begun) => {
    const given = givenTo(host, begun);
    if (given === null) return host.ended(begun, notGiven(host, begun), undefined);
    const told = tellOf(given.value, host.askedOf(begun.task));
    if ("error" in told) host.ended(begun, { kind: "failed", error: told.error }, undefined);
    else host.ended(begun, { kind: "success", ...told }, given.value);
  },
  until: (host, begun, wait) =>
    passes(host, begun, (values) => `would wait until ${isoOf(untilAt(wait, values))}`),
  run: (host, begun, wait) => {
    const went = ofTask(host, begun, host.otherRuns);
    if (went === null) {
      const what = wait.taskId === null ? "" : `task "${wait.taskId}" in `;
      passes(
        host,
        begun,
        (values) =>
          `would wait for ${what}run "${otherRun(wait, values).runId}" of dag "${wait.dagId}", which a local run does not look at`,
      );
    } else if (went.value === "success") host.ended(begun, { kind: "success" }, null);
    else {
      const message = `the run of dag "${wait.dagId}" that it waits for has failed, as \`otherRuns\` says`;
      host.ended(
        begun,
        { kind: "failed", error: { code: "other_run_failed", message, retryable: true } },
        undefined,
      );
    }
  },
};

/** What would be waited for is written to the log, and is taken as come. */
function passes(host: WaitHost, begun: Begun, what: (values: TemplateValues) => string): void {
  try {
    host.log(begun, `${what(valuesOf(host, begun))}; a local run goes on`);
  } catch (error) {
    if (!(error instanceof MeridianError)) throw error;
    const { code, message } = error;
    return host.ended(begun, { kind: "failed", error: { code, message, retryable: false } }, undefined);
  }
  host.ended(begun, { kind: "success" }, null);
}

function valuesOf({ graph, interval, context }: WaitHost, begun: Begun): TemplateValues {
  return {
    dagId: graph.dagId,
    taskId: graph.tasks[begun.task]!.id,
    runId: context.runId,
    tryNumber: begun.try,
    mapIndex: begun.index,
    zone: graph.zone,
    logicalAt: interval.startAt,
    startAt: interval.startAt,
    endAt: interval.endAt,
    ds: context.ds,
    params: {},
    conf: context.conf,
  };
}

/** By the name of the instance, or the id of the task. */
function ofTask<T>(
  { graph }: WaitHost,
  { task, name }: Begun,
  given: Readonly<Record<string, T>>,
): { readonly value: T } | null {
  const key = [name, graph.tasks[task]!.id].find((one) => Object.hasOwn(given, one));
  return key === undefined ? null : { value: given[key]! };
}

export const givenTo = (host: WaitHost, begun: Begun) => ofTask(host, begun, host.events);

export function notGiven({ graph }: WaitHost, { task, name }: Begun): WaitEnd {
  const { id } = graph.tasks[task]!;
  const message = `nobody ends this wait in a local run: say what it is ended with, by \`events: { "${name}": … }\` of runDag or by --event ${id}=JSON of the command line`;
  return { kind: "failed", error: { code: "no_event", message, retryable: false } };
}
