import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chownSync, closeSync, existsSync, lchownSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { readdirSync, readlinkSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Refused, Terminal } from "../../core/errors.ts";
import { lastLines } from "./log-file.ts";
import { type ProcessId, processStart } from "./process.ts";
import type { RunAs } from "./unprivileged.ts";

/** The database user of the embedded server; it owns all. */
export const POSTGRES_USER = "meridian";

/** Locale and zone never come from the machine: the same data folder reads the same everywhere. */
export function serverEnv(): NodeJS.ProcessEnv | undefined {
  return process.platform === "win32" ? undefined : { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };
}

/**
 * The data folder as the server can name it. Below a folder its user may not enter (a clone under
 * /root, mode 700) it is its own working directory, which we enter for it before giving up root.
 */
export function pathForServer(data: string, runAs: RunAs | undefined): string {
  if (runAs === undefined || process.platform !== "linux" || canReach(dirname(data), runAs)) return data;
  return "/proc/self/cwd";
}

function canReach(folder: string, runAs: RunAs): boolean {
  const stat = statSync(folder);
  const shift = stat.uid === runAs.uid ? 6 : stat.gid === runAs.gid ? 3 : 0;
  const enters = ((stat.mode >> shift) & 1) === 1;
  return enters && (folder === dirname(folder) || canReach(dirname(folder), runAs));
}

export interface DataOptions {
  readonly bin: string;
  readonly data: string;
  readonly password: string;
  readonly runAs: RunAs | undefined;
  /** Throw-away data need not reach the disk. */
  readonly sync: boolean;
}

/** Whether the folder holds a whole cluster. */
export function hasData(data: string): boolean {
  return existsSync(join(data, "PG_VERSION"));
}

/** Makes the data folder whole or not at all: initdb works beside it, a rename puts it in place. */
export async function ensureData(o: DataOptions): Promise<void> {
  if (hasData(o.data)) return giveTo(o.data, o.runAs);
  const folder = dirname(o.data);
  for (const name of readdirSync(folder)) {
    if (name.startsWith("data.new.")) rmSync(join(folder, name), { recursive: true, force: true });
  }
  const draft = `${o.data}.new.${process.pid}`;
  mkdirSync(draft, { mode: 0o700 });
  try {
    giveTo(draft, o.runAs);
    await initdb(draft, o);
    rmSync(o.data, { recursive: true, force: true });
    renameSync(draft, o.data);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    throw error;
  }
}

async function initdb(data: string, o: DataOptions): Promise<void> {
  const passwordFile = `${data}.password`;
  writeFileSync(passwordFile, o.password, { mode: 0o600 });
  if (o.runAs) chownSync(passwordFile, o.runAs.uid, o.runAs.gid);
  // Handed over as an open file: its user could not reach it by path below a closed folder.
  const passwordFd = openSync(passwordFile, "r");
  try {
    const windows = process.platform === "win32";
    const args = ["-D", pathForServer(data, o.runAs), "-U", POSTGRES_USER, "--auth=scram-sha-256"];
    args.push("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8");
    args.push(`--pwfile=${windows ? passwordFile : "/dev/fd/3"}`, "--no-instructions");
    if (!o.sync) args.push("--no-sync");
    const child = spawn(join(o.bin, "initdb"), args, {
      cwd: data,
      env: serverEnv(),
      ...o.runAs,
      // Ctrl-C at the terminal is for us alone: it ends in a second or two.
      detached: true,
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
    if (code !== 0) throw initdbFailed(data, output);
  } finally {
    closeSync(passwordFd);
    rmSync(passwordFile, { force: true });
  }
}

function initdbFailed(data: string, output: string): Terminal {
  if (/caught signal/.test(output)) {
    return new Terminal("initdb_ended", `embedded Postgres: initdb in ${data} was ended; start again`);
  }
  const hint = /could not look up effective user/.test(output)
    ? "give this user id an entry in /etc/passwd, or set DATABASE_URL to a Postgres of your own"
    : "see the reason, free the disk or set MERIDIAN_HOME to another folder, or set DATABASE_URL";
  return new Terminal(
    "initdb_failed",
    `embedded Postgres: initdb in ${data} failed: ${lastLines(output)}; ${hint}`,
  );
}

/** Data brought here by root (a copy, a restored backup) go to the user the server runs as. */
function giveTo(data: string, runAs: RunAs | undefined): void {
  const owner = statSync(data).uid;
  const wanted = runAs?.uid ?? process.getuid?.() ?? owner;
  if (owner === wanted) return;
  if (runAs === undefined) {
    throw new Refused(
      "data_of_another_user",
      `embedded Postgres: ${data} belongs to uid ${owner}, and this process runs as uid ${wanted}; start as that user, chown the folder, or set MERIDIAN_HOME to another`,
    );
  }
  try {
    giveAll(data, runAs);
  } catch (cause) {
    throw new Refused(
      "data_not_ownable",
      `embedded Postgres: root may not give ${data} to uid ${runAs.uid} (${(cause as Error).message}); set MERIDIAN_HOME to a folder on a local disk, or start as another user than root`,
      { cause },
    );
  }
}

function giveAll(data: string, runAs: RunAs): void {
  const walk = (path: string): void => {
    lchownSync(path, runAs.uid, runAs.gid);
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      if (entry.isDirectory()) walk(join(path, entry.name));
      else lchownSync(join(path, entry.name), runAs.uid, runAs.gid);
    }
  };
  walk(data);
}

/** The password of the data folder beside it, made at the first start. */
export function readOrMakePassword(folder: string): string {
  const found = readPassword(folder);
  if (found !== null) return found;
  const made = randomBytes(24).toString("base64url");
  writeFileSync(join(folder, "password"), `${made}\n`, { mode: 0o600 });
  return made;
}

export function readPassword(folder: string): string | null {
  try {
    return readFileSync(join(folder, "password"), "utf8").trim() || null;
  } catch {
    return null;
  }
}

/** A live postmaster named by postmaster.pid and, as its working directory proves, serving these data. */
export function livePostmaster(data: string): (ProcessId & { readonly port: number }) | null {
  const [pid = 0, , , port = 0] = pidFileLines(data).map(Number);
  const startedAt = processStart(pid);
  return startedAt !== null && worksIn(pid) === data ? { pid, startedAt, port } : null;
}

/**
 * After a crash, postmaster.pid may name a pid that now belongs to another program, and Postgres
 * would refuse to start. Our own pid in its place is one it takes for stale (its parent), while it
 * still checks that no old backend holds the shared memory: so the file is never removed.
 */
export function disarmStalePidFile(data: string): void {
  const lines = pidFileLines(data);
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || !existsNow(pid) || mayServe(pid, data)) return;
  lines[0] = String(process.pid);
  writeFileSync(join(data, "postmaster.pid"), lines.join("\n"));
}

function pidFileLines(data: string): string[] {
  try {
    return readFileSync(join(data, "postmaster.pid"), "utf8").split("\n");
  } catch {
    return [];
  }
}

function mayServe(pid: number, data: string): boolean {
  if (processStart(pid) === null) return false;
  return process.platform === "linux" ? worksIn(pid) === data : programOf(pid).includes("postgres");
}

function programOf(pid: number): string {
  const run = spawnSync("ps", ["-o", "comm=", "-p", String(pid)], { encoding: "utf8" });
  // Without an answer assume the worst: Postgres itself then decides.
  return run.status === 0 ? run.stdout : "postgres";
}

/** A zombie exists too, and Postgres would take it for alive. */
function existsNow(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The folder a process works in: Postgres works in its data folder. Null where the system does not say. */
function worksIn(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return null;
  }
}
