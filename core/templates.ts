/**
 * Texts with `{{ … }}`: Airflow's names, without a language around them. They are checked when the DAG is defined and
 * rendered for each try. `ds` is the DAG's own calendar date (P4); instants are shown in UTC, as Airflow prints them.
 */
import { templateNameMeant } from "./airflow-names.ts";
import { dsOf } from "./calendar/dates.ts";
import { DefinitionError, Terminal } from "./errors.ts";
import { didYouMean } from "./suggest.ts";

/** What a try renders its templates from. Instants in epoch ms. */
export interface TemplateValues {
  readonly dagId: string;
  readonly taskId: string;
  readonly runId: string;
  readonly tryNumber: number;
  /** -1: the task is not mapped. */
  readonly mapIndex: number;
  readonly zone: string;
  readonly logicalAt: number;
  readonly startAt: number;
  readonly endAt: number;
  readonly ds: string;
  readonly params: unknown;
  readonly conf: unknown;
  /** Of a mapped instance: what it gets of each list, by the list's name. */
  readonly items?: Readonly<Record<string, unknown>>;
}

/** The names, and what each gives. Those that end in a value of the author go on: `params.region`. */
const NAMES: Readonly<Record<string, (values: TemplateValues) => unknown>> = {
  ds: ({ ds }) => ds,
  ds_nodash: ({ ds }) => ds.replaceAll("-", ""),
  ts: ({ logicalAt }) => tsOf(logicalAt),
  ts_nodash: ({ logicalAt }) => tsNodashOf(logicalAt),
  ts_nodash_with_tz: ({ logicalAt }) => tsOf(logicalAt).replaceAll(/[-:]/g, ""),
  logical_date: ({ logicalAt }) => new Date(logicalAt),
  data_interval_start: ({ startAt }) => new Date(startAt),
  data_interval_end: ({ endAt }) => new Date(endAt),
  dag_id: ({ dagId }) => dagId,
  "dag.dag_id": ({ dagId }) => dagId,
  task_id: ({ taskId }) => taskId,
  "task.task_id": ({ taskId }) => taskId,
  run_id: ({ runId }) => runId,
  "dag_run.run_id": ({ runId }) => runId,
  try_number: ({ tryNumber }) => tryNumber,
  "ti.try_number": ({ tryNumber }) => tryNumber,
  map_index: ({ mapIndex }) => mapIndex,
  "ti.map_index": ({ mapIndex }) => mapIndex,
  params: ({ params }) => params,
  conf: ({ conf }) => conf,
  "dag_run.conf": ({ conf }) => conf,
};
const OPEN_NAMES = ["params", "conf", "dag_run.conf"];
const DATES = ["logical_date", "data_interval_start", "data_interval_end"];

/** What may follow an instant: `{{ data_interval_end | ds }}`. */
const FILTERS: Readonly<Record<string, (at: number, zone: string) => string>> = {
  ds: (at, zone) => dsOf(at, zone),
  ds_nodash: (at, zone) => dsOf(at, zone).replaceAll("-", ""),
  ts: (at) => tsOf(at),
  ts_nodash: (at) => tsNodashOf(at),
  ts_nodash_with_tz: (at) => tsOf(at).replaceAll(/[-:]/g, ""),
};

/** What is known when a template is written. */
export interface TemplateRules {
  /** Names of the DAG's params; null: any. */
  readonly params: () => readonly string[] | null;
  /** Where not all names are known: which are, and why. */
  readonly only?: { readonly names: readonly string[]; readonly why: string };
  /** Lists whose items are known; their names go before all others. `onRead` hears of each that is read. */
  readonly items?: { readonly names: readonly string[]; readonly onRead: (name: string) => void };
}

/** Renders what `compileTemplate` has checked: the same shape, its texts rendered. */
export type Render = (values: TemplateValues) => unknown;

/** Deeper ones, and what contains itself, are refused before they exhaust the stack. */
const DEEPEST = 100;

/** `where`: the path so far, for messages. Throws a DefinitionError on a name or a syntax that does not exist. */
export function compileTemplate(value: unknown, rules: TemplateRules, where: string, depth = 0): Render {
  if (typeof value === "string") return compileText(value, rules, where);
  if (depth > DEEPEST) {
    const start = where.slice(0, 60);
    throw wrong(`${start}…`, `nested deeper than ${DEEPEST} levels; does it contain itself?`);
  }
  if (Array.isArray(value)) {
    const items = value.map((item, i) => compileTemplate(item, rules, `${where}[${i}]`, depth + 1));
    return (values) => items.map((render) => render(values));
  }
  if (isPlainObject(value)) {
    const members = Object.entries(value).map(
      ([key, item]) =>
        [key, compileTemplate(item, rules, where === "" ? key : `${where}.${key}`, depth + 1)] as const,
    );
    return (values) => Object.fromEntries(members.map(([key, render]) => [key, render(values)]));
  }
  const isJson = value === null || typeof value === "boolean" || Number.isFinite(value);
  if (isJson) return () => value;
  throw new DefinitionError(
    "bad_template",
    `${where}: ${typeof value === "object" ? "an object of another kind" : `a ${typeof value}`} that JSON cannot hold; expected texts, numbers, true, false, null, and lists and objects of them`,
  );
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === "object" &&
    value !== null &&
    Object.prototype.toString.call(value) === "[object Object]" &&
    [null, "Object"].includes(Object.getPrototypeOf(value)?.constructor?.name ?? null)
  );
}

function compileText(text: string, rules: TemplateRules, where: string): Render {
  const parts: (string | Render)[] = [];
  let from = 0;
  for (;;) {
    const open = nextOpening(text, from);
    parts.push(text.slice(from, open === -1 ? undefined : open));
    if (open === -1) break;
    if (text[open + 1] === "%") {
      const shown = text.slice(open, open + 20);
      throw wrong(
        where,
        `"${shown}" is a block, and templates have none; expected {{ name }}. A literal {% is written {{ "{%" }}`,
      );
    }
    const close = closing(text, open + 2);
    if (close === -1) {
      throw wrong(
        where,
        `"${text.slice(open, open + 30)}" has no closing }}; a literal {{ is written {{ "{{" }}`,
      );
    }
    parts.push(compileExpression(text.slice(open + 2, close), rules, where));
    from = close + 2;
  }
  const kept = parts.filter((part) => part !== "");
  return (values) => kept.map((part) => (typeof part === "string" ? part : part(values))).join("");
}

function nextOpening(text: string, from: number): number {
  for (let at = text.indexOf("{", from); at !== -1; at = text.indexOf("{", at + 1)) {
    if (text[at + 1] === "{" || text[at + 1] === "%") return at;
  }
  return -1;
}

/** The closing braces, none within quotes. */
function closing(text: string, from: number): number {
  let quote = "";
  for (let at = from; at < text.length; at++) {
    const sign = text[at]!;
    if (quote !== "") quote = sign === quote ? "" : quote;
    else if (sign === '"' || sign === "'") quote = sign;
    else if (sign === "}" && text[at + 1] === "}") return at;
  }
  return -1;
}

const QUOTED = /^(?:"([^"]*)"|'([^']*)')$/;
const PATH = /^[A-Za-z_][\w-]*(?:\.[\w-]+|\[\d+\]|\["[^"]*"\]|\['[^']*'\])*$/;
const STEP = /^[A-Za-z_][\w-]*|\.([\w-]+)|\[(\d+)\]|\["([^"]*)"\]|\['([^']*)'\]/g;

function compileExpression(text: string, rules: TemplateRules, where: string): Render {
  const expression = text.trim();
  const quoted = QUOTED.exec(expression);
  if (quoted !== null) return () => quoted[1] ?? quoted[2] ?? "";
  const [name = "", filter, ...more] = expression.split("|").map((part) => part.trim());
  if (!PATH.test(name) || more.length > 0) {
    throw wrong(
      where,
      `"{{ ${expression} }}" is no name; expected one of ${knownNames(rules).join(", ")}, with dots for what is inside ${rules.items === undefined ? "params and conf" : "items and conf"}`,
    );
  }
  const steps = stepsOf(name);
  if (rules.items?.names.includes(steps[0]!) === true) {
    if (filter !== undefined)
      throw wrong(where, `"{{ ${expression} }}": ${name} is no instant, which the filter "${filter}" needs`);
    rules.items.onRead(steps[0]!);
    return (values) => print(itemOf(steps, values, where, name), where, name);
  }
  const source = sourceOf(steps, rules, where, expression);
  const inner = steps.slice(source.split(".").length);
  if (filter === undefined)
    return (values) => print(valueOf(source, inner, values, where, name), where, name);
  const apply = filterOf(filter, source, where, expression);
  return (values) => {
    const value = valueOf(source, inner, values, where, name);
    if (isDate(value)) return apply(value.getTime(), values.zone);
    throw unset(where, `${name} is no instant, which the filter ${filter} needs`);
  };
}

function stepsOf(name: string): string[] {
  return [...name.matchAll(STEP)].map(
    (match) => match.slice(1).find((part) => part !== undefined) ?? match[0],
  );
}

const knownNames = ({ items, only }: TemplateRules): readonly string[] => [
  ...(items?.names ?? []),
  ...(only?.names ?? Object.keys(NAMES)),
];

/** The key of `NAMES` that the path begins with. */
function sourceOf(steps: readonly string[], rules: TemplateRules, where: string, shown: string): string {
  const two = steps.slice(0, 2).join(".");
  const source = Object.hasOwn(NAMES, two) ? two : steps[0]!;
  const isOpen = OPEN_NAMES.includes(source);
  const isWhole = steps.length === source.split(".").length;
  const known = knownNames(rules);
  if (!Object.hasOwn(NAMES, source) || (!isOpen && !isWhole)) {
    const whole = steps.join(".");
    throw wrong(
      where,
      `"{{ ${shown} }}": the name "${whole}" does not exist${templateNameMeant(whole, known) || `; expected one of ${known.join(", ")}`}`,
    );
  }
  const { only } = rules;
  if (only !== undefined && !only.names.includes(source)) {
    throw wrong(
      where,
      `"{{ ${shown} }}": ${source} is not known here: ${only.why}; expected one of ${known.join(", ")}`,
    );
  }
  const param = source === "params" ? steps[1] : undefined;
  const params = param === undefined ? null : rules.params();
  if (param !== undefined && params !== null && !params.includes(param)) {
    const known = params.length === 0 ? "; it has none" : `; expected one of ${params.join(", ")}`;
    throw wrong(
      where,
      `"{{ ${shown} }}": the DAG has no param "${param}"${didYouMean(param, params) || known}`,
    );
  }
  return source;
}

function filterOf(filter: string, source: string, where: string, shown: string) {
  const known = Object.keys(FILTERS);
  const apply = Object.hasOwn(FILTERS, filter) ? FILTERS[filter] : undefined;
  if (apply === undefined) {
    throw wrong(
      where,
      `"{{ ${shown} }}": the filter "${filter}" does not exist${didYouMean(filter, known) || `; expected one of ${known.join(", ")}`}`,
    );
  }
  if (OPEN_NAMES.includes(source) || DATES.includes(source)) return apply;
  throw wrong(
    where,
    `"{{ ${shown} }}": ${source} is a text, and filters take instants; expected one of ${DATES.join(", ")}`,
  );
}

function valueOf(
  source: string,
  inner: readonly string[],
  values: TemplateValues,
  where: string,
  name: string,
): unknown {
  const value = within(NAMES[source]!(values), inner);
  if (value !== undefined) return value;
  throw unset(where, `${name} is not set in this run`);
}

function itemOf(steps: readonly string[], { items }: TemplateValues, where: string, name: string): unknown {
  const value = within(items, steps);
  if (value !== undefined) return value;
  throw unset(where, `the item of this instance has no ${name}`, "");
}

/** Undefined: there is no such thing in it. */
function within(value: unknown, path: readonly string[]): unknown {
  let found = value;
  for (const key of path) {
    const holder = found as Readonly<Record<string, unknown>> | null | undefined;
    found =
      typeof holder === "object" && holder !== null && Object.hasOwn(holder, key) ? holder[key] : undefined;
  }
  return found;
}

function print(value: unknown, where: string, name: string): string {
  if (typeof value === "string") return value;
  if (isDate(value)) return tsOf(value.getTime()).replace("T", " ");
  if (typeof value === "object" && value !== null) return jsonOf(value, where, name);
  if (typeof value === "function" || typeof value === "symbol")
    throw unset(where, `${name} is a ${typeof value}`);
  return String(value);
}

/** A transform of the author may have made anything. */
function jsonOf(value: object, where: string, name: string): string {
  try {
    return JSON.stringify(value, (_key, inner: unknown) =>
      typeof inner === "bigint" ? String(inner) : inner,
    );
  } catch (error) {
    throw unset(where, `${name} cannot be shown as JSON (${(error as Error).message})`);
  }
}

const isDate = (value: unknown): value is Date => Object.prototype.toString.call(value) === "[object Date]";

/** As Python's `isoformat()` in UTC: `2026-05-09T00:00:00+00:00`, with six digits of a second that has a fraction. */
function tsOf(at: number): string {
  const iso = new Date(at).toISOString();
  const fraction = at % 1000 === 0 ? "" : `.${iso.slice(20, 23)}000`;
  return `${iso.slice(0, 19)}${fraction}+00:00`;
}

function tsNodashOf(at: number): string {
  return new Date(at).toISOString().slice(0, 19).replaceAll(/[-:]/g, "");
}

function wrong(where: string, reason: string): DefinitionError {
  return new DefinitionError("bad_template", where === "" ? reason : `${where}: ${reason}`);
}

const SET_IT = "; pass it when the run is triggered, or give the param a default";

function unset(where: string, reason: string, remedy = SET_IT): Terminal {
  return new Terminal("template_unset", `template ${JSON.stringify(where)}: ${reason}${remedy}`);
}
