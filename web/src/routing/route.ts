/** The whole state of the page as a value, and as a URL: what is not in here does not survive a reload. Pure. */

import { RUN_STATES, RUN_TYPES, type RunState, type RunType } from "../../../core/states.ts";
import { WAIT_KINDS, type WaitKind } from "../../../core/why-deferred.ts";
import { parseZone, type ZoneChoice } from "./zone-choice.ts";

export type Place =
  | { readonly page: "dags"; readonly list: DagListView }
  | { readonly page: "dag"; readonly dagId: string; readonly view: DagView }
  | { readonly page: "runs"; readonly list: RunListView }
  | { readonly page: "waits"; readonly list: WaitListView }
  /** `open`: the pool whose work is shown. */
  | { readonly page: "pools"; readonly open?: string }
  | { readonly page: "files"; readonly search: string; readonly withError: boolean }
  | { readonly page: "import-errors"; readonly file: string | null }
  | { readonly page: "unknown"; readonly path: string };

export const DAG_FILTERS = ["all", "active", "paused"] as const;
export type DagFilter = (typeof DAG_FILTERS)[number];

/** Which DAGs the list shows. */
export interface DagListView {
  readonly search: string;
  readonly filter: DagFilter;
  /** A DAG has all of them. */
  readonly tags: readonly string[];
  readonly owner: string | null;
  /** State of the last run. */
  readonly state: RunState | null;
  readonly withError: boolean;
  readonly sort: DagSort;
}

/** By id, or by when the next run is due; a `-` turns the order round. */
export const DAG_SORTS = ["dagId", "-dagId", "nextDueAt", "-nextDueAt"] as const;
export type DagSort = (typeof DAG_SORTS)[number];

export const ALL_DAGS: DagListView = {
  search: "",
  filter: "all",
  tags: [],
  owner: null,
  state: null,
  withError: false,
  sort: "dagId",
};

/** Which runs of all DAGs the list shows. */
export interface RunListView {
  readonly state: RunState | null;
  readonly type: RunType | null;
  /** Part of the DAG's or the run's id. */
  readonly search: string;
  /** Which of their dates `from` and `until` are about: when they began, or their logical date. */
  readonly by: RunDate;
  /** First and last day, `2026-05-09`, in the zone in use. */
  readonly from: string | null;
  readonly until: string | null;
}

export const RUN_DATES = ["started", "logical"] as const;
export type RunDate = (typeof RUN_DATES)[number];

export const ALL_RUNS: RunListView = {
  state: null,
  type: null,
  search: "",
  by: "started",
  from: null,
  until: null,
};

/** Which open waits the list shows. */
export interface WaitListView {
  /** Part of the id of its DAG, run or task. */
  readonly search: string;
  readonly dagId: string | null;
  readonly kind: WaitKind | null;
}

export const ALL_WAITS: WaitListView = { search: "", dagId: null, kind: null };

/** What a DAG's page shows: runs over time, one run in three ways, its source, or what is selected at full width. */
export const VIEWS = ["grid", "graph", "gantt", "code", "details"] as const;
export type ViewName = (typeof VIEWS)[number];

/** How many runs the grid shows at once: a month, a quarter, a year. */
export const SPANS = [31, 92, 366] as const;
export type Span = (typeof SPANS)[number];

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** What is open and selected on a DAG's page. */
export interface DagView {
  readonly show: ViewName;
  readonly span: Span;
  /** The grid shows runs older than this key; null: the newest. */
  readonly before: string | null;
  readonly runId: string | null;
  readonly taskId: string | null;
  /** A group instead of a task. */
  readonly groupId: string | null;
  readonly mapIndex: number | null;
  readonly tryNumber: number | null;
  /** Only rows whose task id contains this. */
  readonly tasks: string;
  /** Groups that stand as one row or node. */
  readonly folded: readonly string[];
  /** Only lines of the log that contain this. */
  readonly find: string;
  /** Only lines of the log of this level and above. */
  readonly level: LogLevel;
  /** A line of the log, counted from 1. */
  readonly line: number | null;
  /** Whose code is shown; null: the run's, or the current one. */
  readonly version: number | null;
  /** The version that `version` is compared with. */
  readonly against: number | null;
  /** Which source file of the version. */
  readonly path: string | null;
}

export const PLAIN_VIEW: DagView = {
  show: "grid",
  span: 31,
  before: null,
  runId: null,
  taskId: null,
  groupId: null,
  mapIndex: null,
  tryNumber: null,
  tasks: "",
  folded: [],
  find: "",
  level: "debug",
  line: null,
  version: null,
  against: null,
  path: null,
};

/** Nothing selected within the DAG. */
export const NO_PICK = {
  runId: null,
  taskId: null,
  groupId: null,
  mapIndex: null,
  tryNumber: null,
  find: "",
  level: "debug",
  line: null,
} as const satisfies Partial<DagView>;

export interface Route {
  readonly place: Place;
  /** null: the URL does not say; the remembered choice applies, and goes into the URL. */
  readonly zone: ZoneChoice | null;
}

function oneOf<T extends string>(choices: readonly T[], text: string | null): T | null {
  return choices.find((choice) => choice === text) ?? null;
}

function wholeNumber(text: string | null): number | null {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;
}

const day = (text: string | null): string | null =>
  text !== null && /^\d{4}-\d\d-\d\d$/.test(text) ? text : null;

const given = (text: string | null): string | null => (text === "" ? null : text);

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function parseRoute(pathname: string, search: string): Route {
  const query = new URLSearchParams(search);
  return { place: parsePlace(pathname, query), zone: parseZone(query.get("tz")) };
}

function parsePlace(pathname: string, query: URLSearchParams): Place {
  const [first = "dags", ...rest] = pathname
    .split("/")
    .filter((part) => part !== "")
    .map(decode);
  if (first === "dags" && rest.length === 0) return { page: "dags", list: parseDagList(query) };
  if (first === "dags" && rest.length === 1) return { page: "dag", dagId: rest[0]!, view: parseView(query) };
  if (rest.length > 0) return { page: "unknown", path: pathname };
  switch (first) {
    case "runs":
      return {
        page: "runs",
        list: {
          state: oneOf(RUN_STATES, query.get("state")),
          type: oneOf(RUN_TYPES, query.get("type")),
          search: query.get("q") ?? "",
          by: oneOf(RUN_DATES, query.get("by")) ?? "started",
          from: day(query.get("from")),
          until: day(query.get("until")),
        },
      };
    case "waits":
      return {
        page: "waits",
        list: {
          search: query.get("q") ?? "",
          dagId: given(query.get("dag")),
          kind: oneOf(WAIT_KINDS, query.get("for")),
        },
      };
    case "pools": {
      const open = given(query.get("pool"));
      return { page: "pools", ...(open !== null && { open }) };
    }
    case "files":
      return { page: "files", search: query.get("q") ?? "", withError: query.has("errors") };
    case "import-errors":
      return { page: "import-errors", file: given(query.get("file")) };
    default:
      return { page: "unknown", path: pathname };
  }
}

function parseDagList(query: URLSearchParams): DagListView {
  return {
    search: query.get("q") ?? "",
    filter: oneOf(DAG_FILTERS, query.get("show")) ?? "all",
    tags: query.getAll("tag").filter((tag) => tag !== ""),
    owner: given(query.get("owner")),
    state: oneOf(RUN_STATES, query.get("state")),
    withError: query.has("errors"),
    sort: oneOf(DAG_SORTS, query.get("sort")) ?? "dagId",
  };
}

function parseView(query: URLSearchParams): DagView {
  return {
    show: oneOf(VIEWS, query.get("show")) ?? "grid",
    span: SPANS.find((choice) => String(choice) === query.get("runs")) ?? 31,
    before: given(query.get("before")),
    runId: given(query.get("run")),
    taskId: given(query.get("task")),
    groupId: given(query.get("group")),
    mapIndex: wholeNumber(query.get("map")),
    tryNumber: wholeNumber(query.get("try")),
    tasks: query.get("tasks") ?? "",
    folded: query.getAll("fold").filter((group) => group !== ""),
    find: query.get("find") ?? "",
    level: oneOf(LOG_LEVELS, query.get("level")) ?? "debug",
    line: wholeNumber(query.get("line")),
    version: wholeNumber(query.get("version")),
    against: wholeNumber(query.get("against")),
    path: given(query.get("path")),
  };
}

type Value = string | number | boolean | null;
type Put = (key: string, value: Value | readonly string[], plain?: Value) => void;

/** Leaves out what is at its default, so that plain places have plain URLs. */
export function formatRoute({ place, zone }: Route): string {
  const query = new URLSearchParams();
  const put: Put = (key, value, plain = null) => {
    if (typeof value === "object" && value !== null) for (const one of value) query.append(key, one);
    else if (value === true) query.set(key, "");
    else if (value !== null && value !== false && value !== plain && value !== "")
      query.set(key, String(value));
  };
  const path = formatPlace(place, put);
  put("tz", zone);
  // A slash may stand in a query as it is: zones and files are read more easily with it.
  const text = query
    .toString()
    .replaceAll(/=(?=&|$)/g, "")
    .replaceAll("%2F", "/");
  return text === "" ? path : `${path}?${text}`;
}

function formatPlace(place: Place, put: Put): string {
  switch (place.page) {
    case "dags": {
      const { list } = place;
      put("q", list.search);
      put("show", list.filter, "all");
      put("tag", list.tags);
      put("owner", list.owner);
      put("state", list.state);
      put("errors", list.withError);
      put("sort", list.sort, ALL_DAGS.sort);
      return "/dags";
    }
    case "dag":
      putView(place.view, put);
      return `/dags/${encodeURIComponent(place.dagId)}`;
    case "runs":
      put("state", place.list.state);
      put("type", place.list.type);
      put("q", place.list.search);
      put("by", place.list.by, ALL_RUNS.by);
      put("from", place.list.from);
      put("until", place.list.until);
      return "/runs";
    case "waits":
      put("q", place.list.search);
      put("dag", place.list.dagId);
      put("for", place.list.kind);
      return "/waits";
    case "pools":
      put("pool", place.open ?? null);
      return "/pools";
    case "files":
      put("q", place.search);
      put("errors", place.withError);
      return "/files";
    case "import-errors":
      put("file", place.file);
      return "/import-errors";
    case "unknown":
      return place.path;
  }
}

function putView(view: DagView, put: Put): void {
  put("show", view.show, PLAIN_VIEW.show);
  put("runs", view.span, PLAIN_VIEW.span);
  put("before", view.before);
  put("run", view.runId);
  put("task", view.taskId);
  put("group", view.groupId);
  put("map", view.mapIndex);
  put("try", view.tryNumber);
  put("tasks", view.tasks);
  put("fold", view.folded);
  put("find", view.find);
  put("level", view.level, PLAIN_VIEW.level);
  put("line", view.line);
  put("version", view.version);
  put("against", view.against);
  put("path", view.path);
}
