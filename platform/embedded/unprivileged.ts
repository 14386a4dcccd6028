import { readFileSync, statSync } from "node:fs";

/** The user a server runs as; undefined means: as ourselves. */
export interface RunAs {
  readonly uid: number;
  readonly gid: number;
}

const NOBODY: RunAs = { uid: 65534, gid: 65534 };

/**
 * Postgres refuses to run as root. Then it runs as the owner of the data it finds, else as user
 * `postgres`, else as `nobody`; by number, so no entry in the user list is needed.
 */
export function chooseRunAs(dataFolder: string): RunAs | undefined {
  if (process.getuid?.() !== 0) return undefined;
  return (
    ownerOf(dataFolder) ?? userNamed("postgres") ?? userNamed("_postgres") ?? userNamed("nobody") ?? NOBODY
  );
}

function ownerOf(folder: string): RunAs | undefined {
  const stat = statSync(folder, { throwIfNoEntry: false });
  return stat === undefined || stat.uid === 0 ? undefined : { uid: stat.uid, gid: stat.gid };
}

function userNamed(name: string): RunAs | undefined {
  let text: string;
  try {
    text = readFileSync("/etc/passwd", "utf8");
  } catch {
    return undefined;
  }
  const fields = text
    .split("\n")
    .find((line) => line.startsWith(`${name}:`))
    ?.split(":");
  const [uid, gid] = [Number(fields?.[2]), Number(fields?.[3])];
  return Number.isInteger(uid) && Number.isInteger(gid) && uid !== 0 ? { uid, gid } : undefined;
}
