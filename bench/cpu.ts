import { readdirSync, readFileSync } from "node:fs";

/** Clock ticks a second in /proc/<pid>/stat; 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

interface Stat {
  readonly parent: number;
  readonly ticks: number;
}

function readStat(pid: number): Stat | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined; // ended between the listing and the read
  }
  // The command name may hold spaces and brackets: fields are counted from after the last bracket.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const own = Number(fields[11]) + Number(fields[12]);
  const reapedChildren = Number(fields[13]) + Number(fields[14]);
  return { parent: Number(fields[1]), ticks: own + reapedChildren };
}

/**
 * CPU used so far by these processes and all that descend from them, in ms; null where there is no /proc.
 * A child that ended is counted by its parent once reaped, so differences miss nothing.
 */
export function cpuMs(roots: readonly number[]): number | null {
  if (process.platform !== "linux") return null;
  const stats = new Map<number, Stat>();
  for (const name of readdirSync("/proc")) {
    const stat = /^\d+$/.test(name) ? readStat(Number(name)) : undefined;
    if (stat) stats.set(Number(name), stat);
  }
  const rootSet = new Set(roots);
  const belongs = (pid: number): boolean => {
    if (rootSet.has(pid)) return true;
    const parent = stats.get(pid)?.parent;
    return parent !== undefined && parent > 1 && belongs(parent);
  };
  let ticks = 0;
  for (const [pid, stat] of stats) if (belongs(pid)) ticks += stat.ticks;
  return (ticks * 1_000) / TICKS_PER_SECOND;
}
