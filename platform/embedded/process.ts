import { execFileSync, spawn } from "node:child_process";
import { closeSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { openLog } from "./log-file.ts";

/** A process, told apart from a later one with the same pid by its start. */
export interface ProcessId {
  readonly pid: number;
  readonly startedAt: string;
}

/** What names the start of a live process; null when it is gone (a zombie counts as gone). */
export function processStart(pid: number): string | null {
  if (!Number.isInteger(pid) || pid <= 0) return null;
  if (process.platform === "linux") return linuxStart(pid);
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return null;
  }
  return process.platform === "win32" ? windowsStart(pid) : psStart(pid);
}

/** Whether exactly this process still lives. */
export function isAlive(id: ProcessId): boolean {
  return processStart(id.pid) === id.startedAt;
}

/** Our own pid and start, for lock and pid files. */
export function ownProcessId(): ProcessId {
  return { pid: process.pid, startedAt: processStart(process.pid) ?? "" };
}

let bootId: string | undefined;

function linuxStart(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in brackets may hold spaces and brackets itself: fields count from the last ")".
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (fields[0] === "Z" || fields[0] === "X") return null;
    bootId ??= readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${bootId}/${fields[19]}`;
  } catch {
    return null;
  }
}

function psStart(pid: number): string | null {
  try {
    const env = { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };
    const line = execFileSync("ps", ["-o", "stat=,lstart=", "-p", String(pid)], { env, encoding: "utf8" });
    const [state = "", ...start] = line.trim().split(/\s+/);
    return state === "" || state.startsWith("Z") ? null : start.join(" ");
  } catch {
    return null;
  }
}

function windowsStart(pid: number): string | null {
  try {
    const script = `(Get-Process -Id ${pid}).StartTime.ToUniversalTime().Ticks`;
    return (
      execFileSync("powershell", ["-NoProfile", "-Command", script], { encoding: "utf8" }).trim() || null
    );
  } catch {
    return null;
  }
}

export interface Detached {
  readonly command: string;
  readonly args: readonly string[];
  readonly logFile: string;
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  readonly uid?: number | undefined;
  readonly gid?: number | undefined;
}

/**
 * Starts a server in a process group of its own, so that Ctrl-C at the terminal does not reach it,
 * with both outputs appended to a file, so that it outlives us without a broken pipe.
 */
export async function spawnDetached(o: Detached): Promise<ProcessId> {
  const log = openLog(o.logFile);
  try {
    const { command, args, logFile: _, ...rest } = o;
    const child = spawn(command, args, {
      ...rest,
      env: rest.env as NodeJS.ProcessEnv | undefined,
      detached: true,
      windowsHide: true,
      stdio: ["ignore", log, log],
    });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", reject);
    });
    child.unref();
    const pid = child.pid as number;
    return { pid, startedAt: processStart(pid) ?? "" };
  } finally {
    closeSync(log);
  }
}

export interface EndOptions {
  readonly signal: NodeJS.Signals;
  readonly graceMs: number;
  /** Signal the whole group it leads: reaches a server behind a wrapper script. */
  readonly group?: boolean;
}

/** Signals a process and waits for its end; SIGKILL once the grace is over. True when it went by itself. */
export async function endProcess(id: ProcessId, o: EndOptions): Promise<boolean> {
  signalProcess(id, o.signal, o.group === true);
  if (await waitForEnd(id, o.graceMs)) return true;
  signalProcess(id, "SIGKILL", o.group === true);
  await waitForEnd(id, 5_000);
  return false;
}

function signalProcess(id: ProcessId, signal: NodeJS.Signals, group: boolean): void {
  if (!isAlive(id)) return;
  try {
    process.kill(group && process.platform !== "win32" ? -id.pid : id.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

async function waitForEnd(id: ProcessId, timeoutMs: number): Promise<boolean> {
  const until = Date.now() + timeoutMs;
  while (isAlive(id)) {
    if (Date.now() > until) return false;
    await sleep(20);
  }
  return true;
}
