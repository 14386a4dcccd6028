/** What requests may hold: path parts, query parameters and bodies. All texts come checked to the handlers. */
import { OpenAPIHono, z } from "@hono/zod-openapi";
import { Refused } from "../core/errors.ts";
import { ID_RULE, isId, parseRunId } from "../core/ids.ts";
import { RUN_STATES, RUN_TYPES } from "../core/states.ts";
import { WAIT_KINDS } from "../core/why-deferred.ts";
import { isStorable } from "../db/json.ts";
import { DAG_SORTS, type DagKey, type DagSort } from "../db/read/dags.ts";
import type { RunKey } from "../db/read/runs.ts";
import type { WaitPageKey, WaitRow } from "../db/read/waits.ts";
import type { ApiEnv } from "./deps.ts";
import { inWords } from "./issue-words.ts";

/** Parts of a request, in words. */
const PART: Record<string, string> = { json: "body", query: "query", param: "path" };

/** An empty set of routes whose requests, when they do not fit, are refused with what, where and what was expected. */
export const newRoutes = () =>
  new OpenAPIHono<ApiEnv>({
    defaultHook: (result) => {
      if (result.success) return;
      const issues = result.error.issues.map((issue) => ({
        at: issue.path.filter((part) => typeof part === "string").join("."),
        message: inWords(issue),
      }));
      const text = issues
        .map((i) => (i.at === "" ? `${PART[result.target]}: ${i.message}` : `${i.at}: ${i.message}`))
        .join("; ");
      throw new Refused("bad_request", text, { details: { issues } });
    },
  });

const id = (what: string) =>
  z
    .string()
    .refine(isId, {
      error: (issue) => `${what} id ${JSON.stringify(issue.input)} is not allowed: expected ${ID_RULE}`,
    })
    .openapi({ example: `a_${what}` });

const runId = z
  .string()
  .refine((text) => parseRunId(text) !== null, {
    error: (issue) =>
      `run id ${JSON.stringify(issue.input)} is not allowed: expected a logical date like 2026-05-09T00-00-00Z, in digits, "-", "T" and "Z"`,
  })
  .openapi({ example: "2026-05-09T00-00-00Z" });

/** A whole number written plainly, between two bounds. */
export const whole = (min: number, max: number) =>
  z
    .string()
    .regex(/^-?\d{1,15}$/, `expected a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((n) => n >= min && n <= max, `expected a whole number from ${min} to ${max}`)
    .openapi({ type: "integer", minimum: min, maximum: max });

const limit = (usual: number) => whole(1, 1000).default(usual);

/** Instants that JavaScript writes as Postgres reads them: years from 1 to 9999. */
const FIRST_AT = Date.parse("0001-01-01T00:00:00Z");
const LAST_AT = Date.parse("9999-12-31T23:59:59.999Z");
const isDate = (ms: number): boolean => ms >= FIRST_AT && ms <= LAST_AT;

/** Pages of runs end at `<logical date in epoch ms>.<run>`. */
export const keyOf = (row: { logical_at: Date; run: number }): string =>
  `${row.logical_at.getTime()}.${row.run}`;

const before = z
  .string()
  .regex(/^-?\d{1,15}\.\d{1,16}$/, "expected the key of a run, as a list gave it")
  .transform((text): RunKey => {
    const dot = text.indexOf(".");
    return { logicalAt: Number(text.slice(0, dot)), run: Number(text.slice(dot + 1)) };
  })
  .refine((key) => isDate(key.logicalAt) && Number.isSafeInteger(key.run), "no such date")
  .openapi({ type: "string" });

const flag = z
  .enum(["true", "false"])
  .transform((text) => text === "true")
  .openapi({ type: "boolean" });

const state = z.enum(RUN_STATES);
const states = z
  .string()
  .transform((text) => text.split(","))
  .pipe(z.array(state))
  .openapi({ type: "string", description: `One or more of ${RUN_STATES.join(", ")}, with commas between` });

const type = z.enum(RUN_TYPES);
const types = z
  .string()
  .transform((text) => text.split(","))
  .pipe(z.array(type))
  .openapi({ type: "string", description: `One or more of ${RUN_TYPES.join(", ")}, with commas between` });

const kinds = z
  .string()
  .transform((text) => text.split(","))
  .pipe(z.array(z.enum(WAIT_KINDS)))
  .openapi({ type: "string", description: `One or more of ${WAIT_KINDS.join(", ")}, with commas between` });

export const DagPath = z.object({ dagId: id("dag") });
export const RunPath = DagPath.extend({ runId });
export const TaskPath = RunPath.extend({ taskId: id("task") });
export const TryPath = TaskPath.extend({ try: whole(1, 1_000_000) });
export const PoolPath = z.object({ name: id("pool") });
const version = whole(1, 1_000_000_000);
export const VersionPath = DagPath.extend({ number: version });
export const DiffPath = DagPath.extend({ from: version, to: version });
const file = z.string().min(1).max(2000);
export const FilePath = z.object({
  file: file.openapi({ description: "As lists name it, its slashes as %2F", example: "team/sales.ts" }),
});

/** A parameter that may be given several times. */
const several = (item: z.ZodType<string, string>) =>
  z
    .union([z.string(), z.array(z.string())])
    .transform((given) => [given].flat())
    .pipe(z.array(item).max(50));

const search = z.string().max(200);

/** Pages of DAGs end at an id, or at `<due in microseconds, or never>.<id>`. */
export const dagKeyOf = (sort: DagSort, row: { dag_id: string; due_us: string | null }): string =>
  sort.endsWith("dagId") ? row.dag_id : `${row.due_us ?? "never"}.${row.dag_id}`;

const dagKey = z.string().max(300).openapi({ description: "The key that the page before ended with" });

export function readDagKey(sort: DagSort, text: string): DagKey {
  const parts = /^(?:(-?\d{1,18}|never)\.)?(.+)$/s.exec(text);
  const isDue = !sort.endsWith("dagId");
  const [, due, dagId = ""] = isDue ? (parts ?? []) : [null, null, text];
  const isTime = due === "never" || isDate(Number(due ?? 0) / 1000);
  if (isId(dagId) && isTime && (due !== undefined || !isDue)) {
    return { dagId, due: due === "never" || due === undefined ? null : due };
  }
  throw new Refused("bad_request", `after: ${JSON.stringify(text)} is no key of a list sorted by ${sort}`);
}

export const DagQuery = z.strictObject({
  search: search.optional().openapi({ description: "Part of the id or the description, in any case" }),
  tag: several(search)
    .optional()
    .openapi({ type: "array", items: { type: "string" } }),
  tagMatch: z.enum(["any", "all"]).default("any"),
  owner: several(search)
    .optional()
    .openapi({ type: "array", items: { type: "string" }, description: "One of these" }),
  state: state.optional().openapi({ description: "Of the run with the newest logical date" }),
  paused: flag.optional(),
  active: flag
    .optional()
    .openapi({ description: "false: DAGs that no file defines any more; without it, all" }),
  importError: flag.optional().openapi({ description: "true: DAGs whose file cannot be imported now" }),
  sort: z.enum(DAG_SORTS).default("dagId").openapi({ description: "A `-` turns the order round" }),
  limit: limit(100),
  after: dagKey.optional(),
});
export const NextRunsQuery = z.strictObject({ count: whole(1, 100).default(5) });

const day = z.iso
  .datetime({
    offset: true,
    error: "expected an ISO 8601 instant with its offset, like 2026-05-09T00:00:00Z",
  })
  .transform((iso) => Date.parse(iso))
  .refine(isDate, "expected a year from 0001 to 9999")
  // In UTC: Postgres takes no offset beyond 16 hours.
  .transform((ms) => new Date(ms).toISOString())
  .openapi({ type: "string", format: "date-time" });

export const RunQuery = z.strictObject({
  state: states.optional(),
  type: types.optional(),
  search: search.optional().openapi({ description: "Part of the DAG's or the run's id, in any case" }),
  from: day.optional().openapi({ description: "Logical dates from here on" }),
  until: day.optional().openapi({ description: "Logical dates before this" }),
  startedFrom: day
    .optional()
    .openapi({ description: "Runs that began from here on, of those made at most 92 days before" }),
  startedUntil: day.optional().openapi({ description: "Runs that began before this" }),
  tasks: flag
    .default(false)
    .openapi({ description: "true: tell of each run that is running or failed how its tasks stand" }),
  sort: z
    .enum(["date", "-date"])
    .default("-date")
    .openapi({ description: "Of a DAG by logical date, of all by their making; `-`: newest first" }),
  limit: limit(100),
  before: before.optional().openapi({ description: "The key that the page before ended with" }),
});
export const GridQuery = z.strictObject({ runs: whole(1, 1000).default(31), before: before.optional() });
export const EventsQuery = z.strictObject({
  dag: id("dag")
    .optional()
    .openapi({ description: "Of this DAG, with its cells; without it, runs of all DAGs" }),
});
/** Where a stream stopped, as a browser says it by itself. */
export const LastEventId = z.object({
  "last-event-id": z.string().max(100).optional().openapi({ description: "Go on behind this event" }),
});
/** As long as the series is kept. */
export const HistoryQuery = z.strictObject({ minutes: whole(1, 10_080).default(60) });
const mapIndex = whole(-1, 1_000_000_000).default(-1);
export const TriesQuery = z.strictObject({ mapIndex });
export const LogQuery = z.strictObject({ mapIndex, offset: whole(0, Number.MAX_SAFE_INTEGER).default(0) });

/** Pages of waits end at `<run>.<map index>.<try>.<wait>.<task>`. */
export const waitKeyOf = (row: WaitRow): string =>
  [row.run, row.map_index, row.try, row.wait, row.task_id].join(".");

const waitKey = z
  .string()
  .regex(/^\d{1,16}\.(?:-1|\d{1,9})\.\d{1,9}\.\d{1,9}\../, "expected the key of a wait, as a list gave it")
  .transform((text): WaitPageKey => {
    const [run, mapIndex, number, wait, ...task] = text.split(".");
    return {
      run: Number(run),
      mapIndex: Number(mapIndex),
      try: Number(number),
      wait: Number(wait),
      taskId: task.join("."),
    };
  })
  .refine(({ taskId, run }) => isId(taskId) && Number.isSafeInteger(run), "no such task")
  .openapi({ type: "string", description: "The key that the page before ended with" });

export const RunWaitsQuery = z.strictObject({ limit: limit(100), after: waitKey.optional() });
export const WaitsQuery = RunWaitsQuery.extend({
  dagId: id("dag").optional(),
  taskId: id("task").optional(),
  kind: kinds.optional(),
  search: search
    .optional()
    .openapi({ description: "Part of the DAG's, the run's or the task's id, in any case" }),
});
export const WaitAddressPath = z.object({
  token: z.string().max(2000).openapi({ description: "What the wait's address ends with" }),
});

export const VersionsQuery = z.strictObject({ limit: limit(100), before: version.optional() });
export const FilesQuery = z.strictObject({
  search: z.string().max(200).optional().openapi({ description: "Part of a file's path or of a DAG's id" }),
  withError: flag.optional(),
  limit: limit(100),
  after: file.optional(),
});

export const text = z.string().max(2000).refine(isStorable, "holds characters that cannot be stored");

/** Why Postgres would not hold it to the letter: a NUL, half of a surrogate pair, a number that JSON writes as null. */
export function whyNotStorable(json: unknown): string | null {
  try {
    if (!isStorable(json)) return "holds characters that cannot be stored";
    JSON.stringify(json, (_key, value: unknown) => {
      if (typeof value !== "number" || Number.isFinite(value)) return value;
      throw new RangeError("holds a number that is too large: expected at most 1.8e308");
    });
    return null;
  } catch (error) {
    const isOurs = error instanceof RangeError && error.message.startsWith("holds");
    return isOurs ? error.message : "is nested too deep to be stored";
  }
}

export const PauseBody = z.strictObject({ reason: text.nullable().optional() }).openapi("PauseRequest");
export const PoolBody = z
  .strictObject({
    slots: z.int().min(0).max(1_000_000),
    description: text.optional(),
    scheduledFloor: z.int().min(0).max(1_000_000).optional().openapi({
      description: "Slots that runs by hand cannot take. Left out: as it was; 0: none",
    }),
  })
  .openapi("PoolRequest");

const logicalDate = z.iso
  .datetime({
    offset: true,
    error: "expected an ISO 8601 instant with its offset, like 2026-05-09T00:00:00Z",
  })
  .transform((iso) => Date.parse(iso))
  .refine((ms) => /^\d{4}-/.test(new Date(ms).toISOString()), "expected a year from 0000 to 9999")
  .openapi({ type: "string", format: "date-time" });

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

export const TriggerBody = z
  .strictObject({
    logicalDate: logicalDate.nullable().optional().openapi({ description: "Without it, now" }),
    conf: z
      .unknown()
      // zod's record leaves it out without a word.
      .refine(
        (conf) => !(isObject(conf) && Object.hasOwn(conf, "__proto__")),
        'has the key "__proto__": give it another name',
      )
      .pipe(z.record(z.string(), z.unknown()))
      .superRefine((conf, context) => {
        const message = whyNotStorable(conf);
        if (message !== null) context.addIssue(message);
      })
      .openapi({ type: "object", additionalProperties: {} })
      .optional(),
  })
  .openapi("TriggerRequest");

export const EndWaitBody = z
  .strictObject({
    payload: z
      .unknown()
      .superRefine((payload, context) => {
        const message = payload === undefined ? null : whyNotStorable(payload);
        if (message !== null) context.addIssue(message);
      })
      .optional()
      .openapi({ description: "Any JSON; left out: null" }),
  })
  .openapi("EndWaitRequest");

/** The instant a checked run id names. */
export const namedRun = (runIdText: string): { runId: string; logicalAt: number; fork: number } => ({
  runId: runIdText,
  ...parseRunId(runIdText)!,
});
