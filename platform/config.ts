import { z } from "zod";
import { Refused } from "../core/errors.ts";
import { didYouMean } from "../core/suggest.ts";

/** Each setting once: environment name, type, default, a line of help. `meridian config` prints it. */
interface Setting<T> {
  readonly env: string;
  readonly schema: z.ZodType<T>;
  readonly help: string;
  /** As shown in the help. */
  readonly default: string;
  /** Not shown: all of it, or the password of an address. */
  readonly secret?: "all" | "password";
}

const text = z.string();
const optionalText = z.string().min(1).optional();
const whole = (min: number, expected: string) => z.coerce.number(expected).int(expected).min(min, expected);
const PORT = "expected a whole number from 1 to 65535";
const port = whole(1, PORT).max(65535, PORT).optional();
const count = (fallback: number, min = 1) =>
  whole(min, `expected a whole number from ${min}`).default(fallback);
const list = (fallback: string) =>
  text.default(fallback).transform((value) =>
    value
      .split(",")
      .map((item) => item.trim())
      .filter(Boolean),
  );
const flag = z
  .enum(["0", "1", "false", "true"], "expected true or false")
  .transform((value) => value === "1" || value === "true")
  .default(false);

const OBJECTS = "expected file:FOLDER or s3://BUCKET/PREFIX";
const objects = text
  .transform((value, given) => {
    const file = /^file:(?:\/\/(?=\/))?(.+)$/.exec(value);
    if (file !== null) return { kind: "file" as const, folder: file[1]! };
    const s3 = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([\w.@/-]*))?$/.exec(value);
    if (s3 !== null) {
      const prefix = (s3[2] ?? "").replaceAll(/^\/+|\/+$/g, "");
      return { kind: "s3" as const, bucket: s3[1]!, prefix };
    }
    given.addIssue(OBJECTS);
    return z.NEVER;
  })
  .optional();

const setting = <T>(
  env: string,
  schema: z.ZodType<T>,
  fallback: string,
  help: string,
  secret?: Setting<T>["secret"],
): Setting<T> => ({
  env,
  schema,
  default: fallback,
  help,
  ...(secret !== undefined && { secret }),
});

export const SETTINGS = {
  home: setting(
    "MERIDIAN_HOME",
    text.default(".meridian"),
    ".meridian",
    "data folder: logs, code, embedded database",
  ),
  dags: setting("MERIDIAN_DAGS", text.default("dags"), "dags", "folder of DAG files"),
  host: setting("MERIDIAN_HOST", text.default("127.0.0.1"), "127.0.0.1", "address the API listens on"),
  port: setting("MERIDIAN_PORT", port, "8080, or the next free one", "port of the API and the page"),
  allowedHosts: setting(
    "MERIDIAN_ALLOWED_HOSTS",
    list(""),
    "localhost, 127.0.0.1, ::1",
    "further host names by which the API may be called, comma-separated",
  ),
  apiUrl: setting(
    "MERIDIAN_API_URL",
    optionalText,
    "the one that runs from MERIDIAN_HOME",
    "API that commands talk to, and where addresses of waits lead",
  ),
  apiToken: setting(
    "MERIDIAN_API_TOKEN",
    optionalText,
    "none",
    "token that commands send to that API",
    "all",
  ),
  profile: setting("MERIDIAN_PROFILE", optionalText, "none", "profile that names the API commands talk to"),
  databaseUrl: setting(
    "DATABASE_URL",
    optionalText,
    "embedded",
    "PostgreSQL to use instead of the embedded one",
    "password",
  ),
  readerUrl: setting(
    "MERIDIAN_READER_URL",
    optionalText,
    "DATABASE_URL",
    "replica for reads of the grid",
    "password",
  ),
  databaseConnections: setting(
    "MERIDIAN_DATABASE_CONNECTIONS",
    count(12, 2),
    "12",
    "connections of one process",
  ),
  objects: setting(
    "MERIDIAN_OBJECTS",
    objects,
    "file: MERIDIAN_HOME/objects",
    "store of large outputs: file:FOLDER, or s3://BUCKET/PREFIX with AWS's own variables",
  ),
  temporalAddress: setting(
    "TEMPORAL_ADDRESS",
    optionalText,
    "embedded",
    "host:port of a Temporal server to use instead",
  ),
  temporalNamespace: setting("TEMPORAL_NAMESPACE", text.default("default"), "default", "Temporal namespace"),
  temporalApiKey: setting(
    "TEMPORAL_API_KEY",
    optionalText,
    "none",
    "API key (Temporal Cloud); switches TLS on",
    "all",
  ),
  temporalTls: setting("TEMPORAL_TLS", flag, "false", "use TLS"),
  temporalTlsCert: setting(
    "TEMPORAL_TLS_CLIENT_CERT_PATH",
    optionalText,
    "none",
    "client certificate (mTLS)",
  ),
  temporalTlsKey: setting("TEMPORAL_TLS_CLIENT_KEY_PATH", optionalText, "none", "client key (mTLS)"),
  temporalTlsCa: setting(
    "TEMPORAL_TLS_SERVER_CA_CERT_PATH",
    optionalText,
    "none",
    "certificate authority of the server",
  ),
  temporalUi: setting(
    "TEMPORAL_UI_URL",
    optionalText,
    "the embedded one",
    "address of Temporal Web, for links",
  ),
  taskQueue: setting(
    "MERIDIAN_TASK_QUEUE",
    text.default("meridian"),
    "meridian",
    "prefix of Temporal task queues",
  ),
  queues: setting(
    "MERIDIAN_QUEUES",
    list("default"),
    "default",
    "queue profiles this worker serves, comma-separated",
  ),
  threads: setting("MERIDIAN_THREADS", count(2), "2", "runner threads for task bodies"),
  activities: setting(
    "MERIDIAN_MAX_TRIES",
    count(500),
    "500",
    "tries at the same time in one worker process",
  ),
  cachedRuns: setting("MERIDIAN_CACHED_RUNS", count(1000), "1000", "runs kept in a worker's memory"),
  lostAfterMs: setting(
    "MERIDIAN_LOST_AFTER_MS",
    count(15_000, 1000),
    "15000",
    "a worker silent for so long is dead",
  ),
  turnOverEvents: setting(
    "MERIDIAN_TURN_OVER_EVENTS",
    count(10_000, 50),
    "10000",
    "events of a run's workflow from which it goes on in a new execution",
  ),
  drainMs: setting(
    "MERIDIAN_DRAIN_MS",
    count(10_000, 0),
    "10000",
    "time tries get to end when a worker stops",
  ),
  blockedAfterMs: setting(
    "MERIDIAN_BLOCKED_AFTER_MS",
    count(10_000, 100),
    "10000",
    "a runner thread that does not turn for so long is cleared of its other tries",
  ),
  clockShards: setting("MERIDIAN_CLOCK_SHARDS", count(1), "1", "clock Schedules; 16 for 20,000 DAGs"),
  importTimeoutMs: setting(
    "MERIDIAN_IMPORT_TIMEOUT_MS",
    count(60_000, 100),
    "60000",
    "bound of one DAG file's import",
  ),
  reconcileMs: setting(
    "MERIDIAN_RECONCILE_MS",
    count(30_000, 100),
    "30000",
    "how often leases are checked against Temporal",
  ),
  postgresPort: setting(
    "MERIDIAN_POSTGRES_PORT",
    port,
    "55432, or the next free one",
    "port of the embedded PostgreSQL",
  ),
  temporalPort: setting(
    "MERIDIAN_TEMPORAL_PORT",
    port,
    "7233, or the next free one",
    "port of the embedded Temporal",
  ),
  temporalUiPort: setting(
    "MERIDIAN_TEMPORAL_UI_PORT",
    port,
    "8233, or the next free one",
    "port of the embedded Temporal Web",
  ),
  temporalCli: setting(
    "TEMPORAL_CLI_PATH",
    optionalText,
    "the one on the path, a kept one, or a download",
    "`temporal` program whose server is embedded",
  ),
  alertUrl: setting(
    "MERIDIAN_ALERT_URL",
    z.url("expected an address such as https://hooks.example/meridian").optional(),
    "none: into the log alone",
    "where alerts are sent, as JSON by POST",
    "all",
  ),
  logLevel: setting(
    "MERIDIAN_LOG_LEVEL",
    z.enum(["debug", "info", "warn", "error"], "expected debug, info, warn or error").default("info"),
    "info",
    "debug, info, warn or error",
  ),
} as const;

type Settings = typeof SETTINGS;
export type Config = { readonly [K in keyof Settings]: Settings[K] extends Setting<infer T> ? T : never } & {
  /** Connections by lower-case name, from MERIDIAN_CONN_NAME. Values are secrets: never log them. */
  readonly connections: Readonly<Record<string, string>>;
  /** The environment as given, for what child processes need. */
  readonly env: Readonly<Record<string, string | undefined>>;
};

const CONNECTION = "MERIDIAN_CONN_";

const isConnection = (name: string): boolean => name.startsWith(CONNECTION);

/** What is wrong with a variable's name, or null. */
function nameProblem(name: string, known: ReadonlySet<string>): string | null {
  if (!name.startsWith("MERIDIAN_") || known.has(name) || name.startsWith("MERIDIAN_TEST_")) return null;
  return `${name} is not a setting of Meridian${didYouMean(name, known)}; \`meridian config\` lists them all`;
}

function read<T>(
  { env: name, schema, help, secret }: Setting<T>,
  given: string | undefined,
): { value: T } | { problem: string } {
  const parsed = schema.safeParse(given === "" ? undefined : given);
  if (parsed.success) return { value: parsed.data };
  const problem = parsed.error.issues.map((issue) => issue.message).join("; ");
  const shown = secret === undefined ? (given ?? "") : "***";
  return { problem: `${name}=${shown} is not usable (${help}): ${problem}` };
}

const NAMES: ReadonlySet<string> = new Set(Object.values(SETTINGS).map(({ env }) => env));

/** Reads the settings once, in `main`. A wrong value or a misspelt MERIDIAN_ name is one clear line. */
export function readConfig(env: Readonly<Record<string, string | undefined>> = process.env): Config {
  const connections: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (isConnection(name) && value !== undefined) {
      connections[name.slice(CONNECTION.length).toLowerCase()] = value;
      continue;
    }
    const problem = nameProblem(name, NAMES);
    if (problem !== null) throw new Refused("unknown_setting", problem);
  }
  const values: Record<string, unknown> = {};
  for (const [key, setting] of Object.entries(SETTINGS)) {
    const result = read<unknown>(setting, env[setting.env]);
    if ("problem" in result) throw new Refused("bad_setting", result.problem);
    values[key] = result.value;
  }
  return { ...(values as Omit<Config, "connections" | "env">), connections, env };
}

/** A setting as it stands now. Secrets are masked. */
export interface SettingInForce {
  readonly name: string;
  readonly value: string;
  readonly from: "environment" | "default";
  readonly default: string;
  readonly help: string;
  readonly problem: string | null;
}

/** For `meridian config`: every setting with the value in force, and all that `readConfig` would refuse. */
export function settingsInForce(
  env: Readonly<Record<string, string | undefined>> = process.env,
): SettingInForce[] {
  const rows = Object.values(SETTINGS).map((one): SettingInForce => {
    const given = env[one.env];
    const isGiven = given !== undefined && given !== "";
    const result = read<unknown>(one, given);
    return {
      name: one.env,
      value: isGiven ? masked(given, one.secret) : one.default,
      from: isGiven ? "environment" : "default",
      default: one.default,
      help: one.help,
      problem: "problem" in result ? result.problem : null,
    };
  });
  for (const [name, value] of Object.entries(env).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if (value === undefined) continue;
    const problem = isConnection(name) ? null : nameProblem(name, NAMES);
    if (!isConnection(name) && problem === null) continue;
    const help = isConnection(name) ? CONNECTION_HELP : "not a setting";
    rows.push({ name, value: "***", from: "environment", default: "none", help, problem });
  }
  return rows;
}

function masked(value: string, secret: Setting<unknown>["secret"]): string {
  if (secret === undefined) return value;
  if (secret === "all" || !URL.canParse(value)) return "***";
  const url = new URL(value);
  if (url.password !== "") url.password = "***";
  if (url.searchParams.has("password")) url.searchParams.set("password", "***");
  return url.href;
}

const CONNECTION_HELP = "connection `name` for task bodies, e.g. postgres://…";

/** Every setting with its default and help, for the texts. */
export function configHelp(): string {
  const rows = Object.values(SETTINGS).map(({ env, default: fallback, help }) => ({ env, fallback, help }));
  rows.push({ env: `${CONNECTION}NAME`, fallback: "none", help: CONNECTION_HELP });
  const width = Math.max(...rows.map((row) => row.env.length));
  return rows.map((row) => `${row.env.padEnd(width)}  ${row.help} (default: ${row.fallback})`).join("\n");
}
