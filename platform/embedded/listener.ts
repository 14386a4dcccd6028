import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync, readlinkSync } from "node:fs";

/**
 * Whether the process, or one of the group it leads, is who listens on this port: an answer alone
 * may come from another server that took the port a moment before. Null when it cannot be told.
 */
export function listensOn(pid: number, port: number): boolean | null {
  try {
    return process.platform === "linux" ? linuxListens(pid, port) : lsofListens(pid, port);
  } catch {
    return null;
  }
}

const LISTEN = "0A";

function linuxListens(leader: number, port: number): boolean {
  const sockets = new Set<string>();
  for (const table of ["/proc/net/tcp", "/proc/net/tcp6"]) {
    for (const line of linesOf(table).slice(1)) {
      const [, local = "", , state, , , , , , inode] = line.trim().split(/\s+/);
      if (state === LISTEN && Number.parseInt(local.split(":")[1] ?? "", 16) === port) {
        sockets.add(`socket:[${inode}]`);
      }
    }
  }
  return [leader, ...groupOf(leader)].some((pid) => openFilesOf(pid).some((file) => sockets.has(file)));
}

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, "utf8").trim().split("\n");
  } catch {
    return [];
  }
}

function groupOf(leader: number): number[] {
  const pids = readdirSync("/proc").map(Number).filter(Number.isInteger);
  return pids.filter((pid) => {
    const stat = linesOf(`/proc/${pid}/stat`)[0] ?? "";
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[2]) === leader;
  });
}

function openFilesOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).map((fd) => linkOf(`${folder}/${fd}`));
  } catch {
    return [];
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

function lsofListens(leader: number, port: number): boolean | null {
  if (process.platform === "win32") return null;
  const args = ["-nP", `-iTCP:${port}`, "-sTCP:LISTEN", "-Fpg"];
  const found = execFileSync("lsof", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  return found.split("\n").some((line) => line === `p${leader}` || line === `g${leader}`);
}
