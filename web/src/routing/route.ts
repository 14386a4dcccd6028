/** The whole state of the page as a value, and as a URL: what is not in here does not survive a reload. Pure. */

import { RUN_STATES, type RunState } from "../../../core/states.ts";

export type ZoneChoice = "utc" | "local" | "dag";

export type Place =
  | { readonly page: "dags"; readonly search: string; readonly filter: DagFilter }
  | { readonly page: "dag"; readonly dagId: string; readonly view: DagView }
  | { readonly page: "runs"; readonly state: RunState | null }
  | { readonly page: "pools" }
  | { readonly page: "import-errors"; readonly file: string | null }
  | { readonly page: "unknown"; readonly path: string };

export const DAG_FILTERS = ["all", "active", "paused"] as const;
export type DagFilter = (typeof DAG_FILTERS)[number];

/** How many runs the grid shows at once: a month, a quarter, a year. */
export const SPANS = [31, 92, 366] as const;
export type Span = (typeof SPANS)[number];

/** What is open and selected on a DAG's page. */
export interface DagView {
  readonly span: Span;
  /** The grid shows runs older than this key; null: the newest. */
  readonly before: string | null;
  readonly runId: string | null;
  readonly taskId: string | null;
  readonly mapIndex: number | null;
  readonly tryNumber: number | null;
  /** Only rows whose task id contains this. */
  readonly tasks: string;
}

export const PLAIN_VIEW: DagView = {
  span: 31,
  before: null,
  runId: null,
  taskId: null,
  mapIndex: null,
  tryNumber: null,
  tasks: "",
};

export interface Route {
  readonly place: Place;
  /** null: the URL does not say; the remembered choice applies. */
  readonly zone: ZoneChoice | null;
}

function oneOf<T extends string>(choices: readonly T[], text: string | null): T | null {
  return choices.find((choice) => choice === text) ?? null;
}

function wholeNumber(text: string | null): number | null {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function parseRoute(pathname: string, search: string): Route {
  const query = new URLSearchParams(search);
  const zone = oneOf(["utc", "local", "dag"] as const, query.get("tz"));
  return { place: parsePlace(pathname, query), zone };
}

function parsePlace(pathname: string, query: URLSearchParams): Place {
  const [first = "dags", ...rest] = pathname
    .split("/")
    .filter((part) => part !== "")
    .map(decode);
  if (first === "dags" && rest.length === 0) {
    return {
      page: "dags",
      search: query.get("q") ?? "",
      filter: oneOf(DAG_FILTERS, query.get("show")) ?? "all",
    };
  }
  if (first === "dags" && rest.length === 1) return { page: "dag", dagId: rest[0]!, view: parseView(query) };
  if (first === "runs" && rest.length === 0)
    return { page: "runs", state: oneOf(RUN_STATES, query.get("state")) };
  if (first === "pools" && rest.length === 0) return { page: "pools" };
  if (first === "import-errors" && rest.length === 0)
    return { page: "import-errors", file: query.get("file") };
  return { page: "unknown", path: pathname };
}

function parseView(query: URLSearchParams): DagView {
  const span = SPANS.find((choice) => String(choice) === query.get("runs")) ?? 31;
  return {
    span,
    before: query.get("before"),
    runId: query.get("run"),
    taskId: query.get("task"),
    mapIndex: wholeNumber(query.get("map")),
    tryNumber: wholeNumber(query.get("try")),
    tasks: query.get("tasks") ?? "",
  };
}

/** Leaves out what is at its default, so that plain places have plain URLs. */
export function formatRoute({ place, zone }: Route): string {
  const query = new URLSearchParams();
  const put = (key: string, value: string | number | null, plain: string | number | null = null): void => {
    if (value !== null && value !== plain && value !== "") query.set(key, String(value));
  };
  const path = formatPlace(place, put);
  put("tz", zone);
  const text = query.toString();
  return text === "" ? path : `${path}?${text}`;
}

type Put = (key: string, value: string | number | null, plain?: string | number | null) => void;

function formatPlace(place: Place, put: Put): string {
  switch (place.page) {
    case "dags":
      put("q", place.search);
      put("show", place.filter, "all");
      return "/dags";
    case "dag": {
      const { view } = place;
      put("runs", view.span, PLAIN_VIEW.span);
      put("before", view.before);
      put("run", view.runId);
      put("task", view.taskId);
      put("map", view.mapIndex);
      put("try", view.tryNumber);
      put("tasks", view.tasks);
      return `/dags/${encodeURIComponent(place.dagId)}`;
    }
    case "runs":
      put("state", place.state);
      return "/runs";
    case "pools":
      return "/pools";
    case "import-errors":
      put("file", place.file);
      return "/import-errors";
    case "unknown":
      return place.path;
  }
}
