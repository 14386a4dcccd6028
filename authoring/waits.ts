/** What tasks wait for, checked: from the options of an author to the words of a graph. */
import { parseInstant } from "../core/calendar/dates.ts";
import { DefinitionError, Terminal } from "../core/errors.ts";
import { isId, ID_RULE } from "../core/ids.ts";
import { didYouMean } from "../core/suggest.ts";
import { compileTemplate, type TemplateValues } from "../core/templates.ts";
import type { SerialEvent, SerialOther, SerialSensor, SerialUntil } from "../core/waits.ts";
import { notYet } from "./defer.ts";
import { within, type Values } from "./options.ts";
import { isDeferral } from "./outcome.ts";
import type { Payload } from "./params.ts";
import type { Dag } from "./registry.ts";
import { show } from "./show.ts";
import type { TaskBody } from "./types.ts";
import type { SENSOR_OWN_OPTIONS, WAIT_FOR_RUN_OPTIONS, WAIT_UNTIL_OPTIONS } from "./wait-options.ts";

interface Bounds {
  readonly timeout: number | null;
  readonly softFail: boolean;
}

const bounded = ({ timeout, softFail }: Bounds) => ({
  timeoutMs: timeout,
  ...(softFail && { softFail: true as const }),
});

export const sensorOf = (values: Values<typeof SENSOR_OWN_OPTIONS>): SerialSensor => ({
  kind: "sensor",
  everyMs: values.every,
  ...bounded(values),
});

export const eventOf = (values: Bounds, payload: Payload | null): SerialEvent => ({
  kind: "event",
  payload: payload === null ? null : payload.jsonSchema,
  ...bounded(values),
});

const ONE_OF_THREE = 'expected one of { delay: "30m" }, { time: "06:00" } and { at: "{{ ds }}T06:00" }';

/** `zone`: of texts without an offset. */
export function untilOf(values: Values<typeof WAIT_UNTIL_OPTIONS>, zone: string, where: string): SerialUntil {
  const { delay, time, at } = values;
  const given = Object.entries({ delay, time, at }).filter(([, value]) => value !== null);
  if (given.length !== 1) {
    const has =
      given.length === 0 ? "no instant is given" : given.map(([name]) => name).join(" and ") + " are given";
    throw new DefinitionError("bad_option", `${where}: ${has}; ${ONE_OF_THREE}`);
  }
  if (delay !== null) return { kind: "until", delayMs: delay };
  if (time !== null) return { kind: "until", time };
  checkInstant("at", at!, zone, where);
  return { kind: "until", at: at! };
}

export function otherOf(
  values: Values<typeof WAIT_FOR_RUN_OPTIONS>,
  own: { readonly dagId: string; readonly zone: string },
  where: string,
): SerialOther {
  const { dag, task, before, logicalDate, every } = values;
  const other = readDag(dag, where);
  if (logicalDate !== null) {
    if (before !== 0) {
      throw new DefinitionError(
        "bad_option",
        `${where}: before and logicalDate both say which run it is; leave one of them out`,
      );
    }
    checkInstant("logicalDate", logicalDate, own.zone, where);
  } else if (other.id === own.dagId && before === 0) {
    const instead =
      task === null
        ? 'such as before: "1d", for an earlier run'
        : "for an earlier run; a task of the same run is waited for by after";
    throw new DefinitionError(
      "waits_for_itself",
      `${where}: it would wait for its own run; give before or logicalDate, ${instead}`,
    );
  }
  const ids = other.dag?.graph.tasks.map(({ id }) => id);
  if (task !== null && ids !== undefined && !ids.includes(task)) {
    throw new DefinitionError(
      "no_task",
      `${where}: option "task" is ${JSON.stringify(task)}, which dag "${other.id}" does not have${didYouMean(task, ids) || `; it has ${ids.join(", ")}`}`,
    );
  }
  return {
    kind: "run",
    dagId: other.id,
    taskId: task,
    beforeMs: before,
    ...(logicalDate !== null && { logicalDate }),
    everyMs: every,
    ...bounded(values),
  };
}

function readDag(given: unknown, where: string): { readonly id: string; readonly dag?: Dag } {
  if (typeof given === "string" && isId(given)) return { id: given };
  const dag = given as Dag | null | undefined;
  const id: unknown = typeof dag === "object" ? dag?.graph?.dagId : undefined;
  if (typeof id === "string") return { id, dag: dag! };
  const said = given === undefined ? "is missing" : `is ${show(given)}`;
  throw new DefinitionError(
    "bad_option",
    `${where}: option "dag" ${said}; expected the id of the other DAG (${ID_RULE}), or what dag() returned`,
  );
}

/** What is known where a wait is made, in no try. */
const KNOWN = [
  "ds",
  "ds_nodash",
  "ts",
  "logical_date",
  "data_interval_start",
  "data_interval_end",
  "conf",
  "dag_run.conf",
];
const EXAMPLE_AT = Date.UTC(2026, 4, 9, 6);

/** A template that is to come out as an instant. What conf gives shows in a run only. */
function checkInstant(name: string, text: string, zone: string, where: string): void {
  within(`${where}: option "${name}"`, () => {
    const why =
      "a wait is made outside of any try, and params are read by the body of one; it knows the run's dates and its conf";
    const render = compileTemplate(text, { params: () => null, only: { names: KNOWN, why } }, "");
    if (/\bconf\b/.test(text)) return;
    const values: TemplateValues = {
      dagId: "",
      taskId: "",
      runId: "",
      tryNumber: 1,
      mapIndex: -1,
      zone,
      logicalAt: EXAMPLE_AT,
      startAt: EXAMPLE_AT,
      endAt: EXAMPLE_AT,
      ds: "2026-05-09",
      params: {},
      conf: {},
    };
    const came = String(render(values));
    try {
      parseInstant(came, zone);
    } catch {
      throw new DefinitionError(
        "bad_option",
        `it is ${JSON.stringify(text)}, which comes out as ${JSON.stringify(came)} on 2026-05-09, and that is no instant; expected such as "{{ ds }}T06:00" or "{{ data_interval_end | ts }}"`,
      );
    }
  });
}

/** The body of a sensor: ends as deferred until its check finds something. */
export function sensorBody(check: TaskBody): TaskBody {
  return (context) => {
    let answer: unknown;
    try {
      answer = check(context);
    } catch (thrown) {
      throw unlessDeferred(thrown);
    }
    if (typeof (answer as { then?: unknown } | null | undefined)?.then !== "function") return found(answer);
    return Promise.resolve(answer).then(found, (thrown: unknown) => {
      throw unlessDeferred(thrown);
    });
  };
}

function found(answer: unknown): unknown {
  if (answer === false || answer === null || answer === undefined) throw notYet(answer);
  return answer;
}

function unlessDeferred(thrown: unknown): unknown {
  if (!isDeferral(thrown)) return thrown;
  return new Terminal(
    "bad_defer",
    "defer() is called in the check of a sensor, which is asked again anyway; answer false for not yet, or make a task of it",
  );
}
