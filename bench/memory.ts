import { readdirSync, readFileSync } from "node:fs";

export interface Memory {
  /** Resident, shared pages counted in each process. */
  readonly rssMiB: number;
  /** Resident, shared pages divided among those that share them. */
  readonly pssMiB: number;
}

/** Memory of these processes and all that descend from them; without those below `without`. Linux only. */
export function memoryOf(roots: readonly number[], without: readonly number[] = []): Memory {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const parent = /^PPid:\s+(\d+)/m.exec(read(`/proc/${name}/status`))?.[1];
    if (parent !== undefined) parents.set(Number(name), Number(parent));
  }
  const isBelow = (pid: number, tops: readonly number[]): boolean => {
    for (let at: number | undefined = pid; at !== undefined; at = parents.get(at))
      if (tops.includes(at)) return true;
    return false;
  };
  let [rss, pss] = [0, 0];
  for (const pid of parents.keys()) {
    if (!isBelow(pid, roots) || isBelow(pid, without)) continue;
    const rollup = read(`/proc/${pid}/smaps_rollup`);
    rss += kib(rollup, "Rss");
    pss += kib(rollup, "Pss");
  }
  return { rssMiB: Math.round(rss / 1024), pssMiB: Math.round(pss / 1024) };
}

/** The process's children whose program has this name. */
export function childrenNamed(parent: number, name: string): number[] {
  return readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid))
    .filter((pid) => {
      const status = read(`/proc/${pid}/status`);
      return (
        /^Name:\s+(.+)$/m.exec(status)?.[1] === name && Number(/^PPid:\s+(\d+)/m.exec(status)?.[1]) === parent
      );
    })
    .map(Number);
}

const kib = (rollup: string, field: string): number =>
  Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(rollup)?.[1] ?? 0);

/** Empty when the process has ended meanwhile. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
