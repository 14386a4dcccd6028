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
  .enum(["0", "1", "false", "true"])
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

const setting = <T>(env: string, schema: z.ZodType<T>, fallback: string, help: string): Setting<T> => ({
  env,
  schema,
  default: fallback,
  help,
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
    "MERIDIAN_API",
    optionalText,
    "the one that runs from MERIDIAN_HOME",
    "API that commands talk to",
  ),
  databaseUrl: setting(
    "DATABASE_URL",
    optionalText,
    "embedded",
    "PostgreSQL to use instead of the embedded one",
  ),
  readerUrl: setting("MERIDIAN_READER_URL", optionalText, "DATABASE_URL", "replica for reads of the grid"),
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
  logLevel: setting(
    "MERIDIAN_LOG_LEVEL",
    z.enum(["debug", "info", "warn", "error"]).default("info"),
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

/** Reads the settings once, in `main`. A wrong value or a misspelt MERIDIAN_ name is one clear line. */
export function readConfig(env: Readonly<Record<string, string | undefined>> = process.env): Config {
  const known = new Map(Object.entries(SETTINGS).map(([key, value]) => [value.env, key]));
  const connections: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (name.startsWith(CONNECTION) && value !== undefined) {
      connections[name.slice(CONNECTION.length).toLowerCase()] = value;
    } else if (name.startsWith("MERIDIAN_") && !known.has(name) && !name.startsWith("MERIDIAN_TEST_")) {
      throw new Refused(
        "unknown_setting",
        `${name} is not a setting of Meridian${didYouMean(name, known.keys())}; \`meridian config\` lists them all`,
      );
    }
  }
  const values: Record<string, unknown> = {};
  for (const [key, { env: name, schema, help }] of Object.entries(SETTINGS)) {
    const given = env[name] === "" ? undefined : env[name];
    const parsed = schema.safeParse(given);
    if (!parsed.success) {
      const problem = parsed.error.issues.map((issue) => issue.message).join("; ");
      throw new Refused("bad_setting", `${name}=${given ?? ""} is not usable (${help}): ${problem}`);
    }
    values[key] = parsed.data;
  }
  return { ...(values as Omit<Config, "connections" | "env">), connections, env };
}

/** For `meridian config`: every setting with its default and help. */
export function configHelp(): string {
  const rows = Object.values(SETTINGS).map(({ env, default: fallback, help }) => ({ env, fallback, help }));
  rows.push({
    env: `${CONNECTION}NAME`,
    fallback: "none",
    help: "connection `name` for task bodies, e.g. postgres://…",
  });
  const width = Math.max(...rows.map((row) => row.env.length));
  return rows.map((row) => `${row.env.padEnd(width)}  ${row.help} (default: ${row.fallback})`).join("\n");
}
