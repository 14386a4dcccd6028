import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, chownSync, closeSync, existsSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { Terminal } from "../../core/errors.ts";
import { findPostgresPackage, runnablePostgres } from "./postgres-binaries.ts";
import { type ProcessId, endProcess, isAlive, spawnDetached } from "./process.ts";
import { type RunAs, chooseRunAs } from "./unprivileged.ts";

export interface PostgresOptions {
  /** Holds the data folder, the password and the log. */
  readonly folder: string;
  readonly port: number;
  readonly logFile: string;
  /** More `name=value` settings, after ours. */
  readonly settings?: readonly string[];
}

export interface RunningPostgres {
  readonly process: ProcessId;
  readonly port: number;
  url(database: string): string;
  createDatabases(names: readonly string[]): Promise<void>;
  /** Fast stop: open transactions are rolled back, a checkpoint is written. */
  stop(): Promise<void>;
}

const USER = "meridian";
const START_TIMEOUT_MS = 120_000;
const STOP_TIMEOUT_MS = 30_000;

/** Room for API, worker and tests at once on one small machine; durability stays as Postgres has it. */
const SETTINGS = [
  "listen_addresses=127.0.0.1",
  "unix_socket_directories=",
  "max_connections=200",
  "shared_buffers=128MB",
  "max_wal_size=1GB",
  "password_encryption=scram-sha-256",
  "timezone=UTC",
  "log_timezone=UTC",
  "log_min_messages=warning",
  "log_checkpoints=off",
];

/** Makes the data folder if need be, starts the server, waits until it answers. */
export async function startPostgres(o: PostgresOptions): Promise<RunningPostgres> {
  mkdirSync(o.folder, { recursive: true });
  const data = join(o.folder, "data");
  const runAs = chooseRunAs(data);
  const bin = join(runnablePostgres(findPostgresPackage(), runAs, join(o.folder, "program")), "bin");
  const password = readOrMakePassword(o.folder);
  if (!existsSync(join(data, "PG_VERSION"))) await initdb(bin, o.folder, data, password, runAs);
  const settings = [`port=${o.port}`, ...SETTINGS, ...(o.settings ?? [])].flatMap((line) => ["-c", line]);
  const id = await spawnDetached({
    command: join(bin, "postgres"),
    args: ["-D", dataAsSeen(data, runAs), ...settings],
    logFile: o.logFile,
    cwd: data,
    env: serverEnv(),
    ...runAs,
  });
  await waitUntilReady(id, o.port, password, o.logFile);
  return running(id, o.port, password);
}

/** Wraps a server that already runs on this folder; null when it does not answer to our password. */
export async function adoptPostgres(
  folder: string,
  id: ProcessId,
  port: number,
): Promise<RunningPostgres | null> {
  const password = readPassword(folder);
  if (password === null || !isAlive(id)) return null;
  return (await answers(port, password, 3_000)) === null ? running(id, port, password) : null;
}

function running(id: ProcessId, port: number, password: string): RunningPostgres {
  const url = (database: string) => `postgresql://${USER}:${password}@127.0.0.1:${port}/${database}`;
  return {
    process: id,
    port,
    url,
    createDatabases: (names) => createDatabases(url("postgres"), names),
    stop: async () => {
      // SIGINT is Postgres's fast stop; SIGTERM would wait for every client to leave.
      await endProcess(id, "SIGINT", STOP_TIMEOUT_MS);
    },
  };
}

/**
 * A data folder below a folder that the server's user may not enter (a clone under /root, mode 700)
 * is reached through its own working directory, which we enter for it before giving up root.
 */
function dataAsSeen(data: string, runAs: RunAs | undefined): string {
  return runAs !== undefined && process.platform === "linux" ? "/proc/self/cwd" : data;
}

function serverEnv(): Record<string, string> | undefined {
  return process.platform === "win32" ? undefined : { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };
}

async function initdb(bin: string, folder: string, data: string, password: string, runAs: RunAs | undefined) {
  rmSync(data, { recursive: true, force: true });
  mkdirSync(data, { mode: 0o700 });
  const passwordFile = join(folder, ".initdb-password");
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (runAs) {
    chownSync(data, runAs.uid, runAs.gid);
    chownSync(passwordFile, runAs.uid, runAs.gid);
  }
  const passwordFd = openSync(passwordFile, "r");
  try {
    const args = ["-D", dataAsSeen(data, runAs), "-U", USER, "--auth=scram-sha-256", "--encoding=UTF8"];
    args.push("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-instructions");
    args.push(process.platform === "win32" ? `--pwfile=${passwordFile}` : "--pwfile=/dev/fd/3");
    const child = spawn(join(bin, "initdb"), args, {
      cwd: data,
      env: serverEnv() as NodeJS.ProcessEnv | undefined,
      ...runAs,
      windowsHide: true,
      stdio: ["ignore", "pipe", "pipe", passwordFd],
    });
    let output = "";
    child.stdout?.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr?.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    if (code !== 0) {
      rmSync(data, { recursive: true, force: true });
      throw new Terminal(
        "initdb_failed",
        `embedded Postgres: initdb in ${data} failed: ${lastLines(output)}`,
      );
    }
  } finally {
    closeSync(passwordFd);
    rmSync(passwordFile, { force: true });
  }
}

async function waitUntilReady(id: ProcessId, port: number, password: string, logFile: string): Promise<void> {
  const until = Date.now() + START_TIMEOUT_MS;
  let problem: string | null = "";
  while ((problem = await answers(port, password, 2_000)) !== null) {
    const over = Date.now() > until;
    if (isAlive(id) && !over) {
      await sleep(25);
      continue;
    }
    await endProcess(id, "SIGINT", 5_000);
    throw new Terminal(
      "postgres_failed",
      `embedded Postgres: ${over ? `no answer on port ${port} (${problem})` : "ended while starting"}; see ${logFile}: ${lastLines(readFileSync(logFile, "utf8"))}`,
    );
  }
}

async function answers(port: number, password: string, timeoutMs: number): Promise<string | null> {
  const client = new pg.Client({
    host: "127.0.0.1",
    port,
    user: USER,
    password,
    database: "postgres",
    connectionTimeoutMillis: timeoutMs,
  });
  client.on("error", () => {});
  try {
    await client.connect();
    return null;
  } catch (error) {
    return (error as Error).message;
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
    for (const name of names) {
      if (!there.has(name)) await client.query(`create database ${client.escapeIdentifier(name)}`);
    }
  } finally {
    await client.end();
  }
}

function passwordPath(folder: string): string {
  return join(folder, "password");
}

function readPassword(folder: string): string | null {
  return existsSync(passwordPath(folder)) ? readFileSync(passwordPath(folder), "utf8").trim() : null;
}

function readOrMakePassword(folder: string): string {
  const found = readPassword(folder);
  if (found) return found;
  const made = randomBytes(24).toString("base64url");
  writeFileSync(passwordPath(folder), `${made}\n`, { mode: 0o600 });
  chmodSync(passwordPath(folder), 0o600);
  return made;
}

function lastLines(text: string): string {
  return text.trim().split("\n").slice(-3).join(" | ");
}
