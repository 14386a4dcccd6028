import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { Refused, Retryable, Terminal } from "../../core/errors.ts";
import { lastLines, sizeOf, tailOf } from "./log-file.ts";
import { findPostgresPackage, runnablePostgres } from "./postgres-binaries.ts";
import { POSTGRES_USER, disarmStalePidFile, ensureData, pathForServer } from "./postgres-data.ts";
import { readOrMakePassword, readPassword, serverEnv } from "./postgres-data.ts";
import { type ProcessId, endProcess, isAlive, spawnDetached } from "./process.ts";
import { chooseRunAs } from "./unprivileged.ts";

export interface PostgresOptions {
  /** Holds the data folder and the password. */
  readonly folder: string;
  readonly port: number;
  readonly logFile: string;
  /** Data nobody will miss: nothing waits for the disk. For tests only. */
  readonly throwAway?: boolean;
  /** Called as soon as the server exists, before it is ready. */
  onSpawn?(id: ProcessId): void;
}

export interface RunningPostgres {
  readonly process: ProcessId;
  readonly port: number;
  url(database: string): string;
  createDatabases(names: readonly string[]): Promise<void>;
  /** Fast stop: open transactions are rolled back, a checkpoint is written. */
  stop(): Promise<void>;
}

/** Long enough for the crash recovery of max_wal_size on a slow disk. */
const READY_TIMEOUT_MS = 120_000;
const STOP_GRACE_MS = 30_000;
/** Backends of a killed server leave on their own once they notice; the new one is refused till then. */
const OLD_BACKENDS_MS = 15_000;

/** Room for API, worker and page on one small machine. Durability stays as Postgres has it. */
const SETTINGS = [
  "listen_addresses=127.0.0.1",
  "unix_socket_directories=",
  "max_connections=200",
  "shared_buffers=128MB",
  "password_encryption=scram-sha-256",
  "jit=off",
  "timezone=UTC",
  "log_timezone=UTC",
];
const THROW_AWAY = ["fsync=off", "full_page_writes=off", "synchronous_commit=off", "autovacuum_naptime=1h"];

/** Makes the data folder if need be, starts the server, waits until it answers. */
export async function startPostgres(o: PostgresOptions): Promise<RunningPostgres> {
  mkdirSync(o.folder, { recursive: true });
  const data = join(o.folder, "data");
  const runAs = chooseRunAs(data);
  const bin = join(runnablePostgres(findPostgresPackage(), runAs, join(o.folder, "program")), "bin");
  const password = readOrMakePassword(o.folder);
  await ensureData({ bin, data, password, runAs, sync: o.throwAway !== true });
  const settings = [`port=${o.port}`, ...SETTINGS, ...(o.throwAway ? THROW_AWAY : [])];
  const until = Date.now() + OLD_BACKENDS_MS;
  for (;;) {
    disarmStalePidFile(data);
    const logFrom = sizeOf(o.logFile);
    const id = await spawnDetached({
      command: join(bin, "postgres"),
      args: ["-D", pathForServer(data, runAs), ...settings.flatMap((line) => ["-c", line])],
      logFile: o.logFile,
      cwd: data,
      env: serverEnv(),
      ...runAs,
    });
    o.onSpawn?.(id);
    const failure = await readyOrFailure(id, { ...o, password, logFrom });
    if (failure === null) return running(id, o.port, password);
    await endProcess(id, { signal: "SIGINT", graceMs: 5_000 });
    if (failure.kind !== "retryable" || Date.now() > until) throw failure;
    await sleep(250);
  }
}

/** Wraps a server that already runs on this folder; null when it does not answer to our password. */
export async function adoptPostgres(
  folder: string,
  found: ProcessId & { readonly port: number },
): Promise<RunningPostgres | null> {
  const password = readPassword(folder);
  if (password === null) return null;
  const until = Date.now() + 5_000;
  while (isAlive(found)) {
    const problem = await tryConnect(found.port, password);
    if (problem === null) return running(found, found.port, password);
    if (problem.code !== STARTING_UP || Date.now() > until) return null;
    await sleep(50);
  }
  return null;
}

/** The address of a database on an embedded server, by what lies in its folder. */
export function postgresUrl(folder: string, port: number, database: string): string | null {
  const password = readPassword(folder);
  return password === null ? null : urlOf(port, password, database);
}

function urlOf(port: number, password: string, database: string): string {
  return `postgresql://${POSTGRES_USER}:${password}@127.0.0.1:${port}/${encodeURIComponent(database)}`;
}

function running(id: ProcessId, port: number, password: string): RunningPostgres {
  return {
    process: id,
    port,
    url: (database) => urlOf(port, password, database),
    createDatabases: (names) => createDatabases(urlOf(port, password, "postgres"), names),
    stop: async () => {
      // SIGINT is Postgres's fast stop; SIGTERM would wait for every client to leave.
      await endProcess(id, { signal: "SIGINT", graceMs: STOP_GRACE_MS });
    },
  };
}

const STARTING_UP = "57P03";
const WRONG_PASSWORD = "28P01";

interface ReadyOptions extends PostgresOptions {
  readonly password: string;
  readonly logFrom: number;
}

async function readyOrFailure(
  id: ProcessId,
  o: ReadyOptions,
): Promise<Retryable | Refused | Terminal | null> {
  const until = Date.now() + READY_TIMEOUT_MS;
  let wrongPasswords = 0;
  for (;;) {
    const problem = await tryConnect(o.port, o.password);
    if (problem === null) return null;
    const log = () => tailOf(o.logFile, o.logFrom);
    if (!isAlive(id)) return endedEarly(o, log());
    if (problem.code === WRONG_PASSWORD) wrongPasswords += 1;
    // Another server's refusal ends with ours failing to bind; one that lasts is our own.
    if (wrongPasswords > 40) return passwordLost(o);
    if (Date.now() > until) {
      const why = `no answer on 127.0.0.1:${o.port} in ${READY_TIMEOUT_MS / 1000} s (${problem.message})`;
      return new Terminal(
        "postgres_failed",
        `embedded Postgres: ${why}; see ${o.logFile}: ${lastLines(log())}`,
      );
    }
    await sleep(25);
  }
}

function endedEarly(o: PostgresOptions, log: string): Retryable | Refused | Terminal {
  const text = `embedded Postgres: ended while starting on port ${o.port}: ${lastLines(log)}; see ${o.logFile}`;
  if (/could not bind|Address already in use/.test(log)) return new Refused("port_taken", text);
  if (/still in use|lock file "postmaster.pid" already exists/.test(log)) {
    return new Retryable("postgres_busy", text);
  }
  return new Terminal("postgres_failed", text);
}

function passwordLost(o: PostgresOptions): Refused {
  return new Refused(
    "postgres_password_lost",
    `embedded Postgres: the password in ${join(o.folder, "password")} does not open the data beside it; restore that file, or empty the data folder with "npm run reset"`,
  );
}

async function tryConnect(port: number, password: string): Promise<(Error & { code?: string }) | null> {
  const client = new pg.Client({
    host: "127.0.0.1",
    port,
    user: POSTGRES_USER,
    password,
    database: "postgres",
    connectionTimeoutMillis: 3_000,
  });
  client.on("error", () => {});
  try {
    await client.connect();
    return null;
  } catch (error) {
    return error as Error;
  } finally {
    await client.end().catch(() => {});
  }
}

async function createDatabases(url: string, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const found = await client.query<{ datname: string }>("select datname from pg_database");
    const there = new Set(found.rows.map((row) => row.datname));
    for (const name of new Set(names)) {
      if (!there.has(name)) await client.query(`create database ${client.escapeIdentifier(name)}`);
    }
  } finally {
    await client.end();
  }
}
