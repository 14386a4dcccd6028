/** Servers by name, in a file of the user's. It may hold tokens: only the user may read it. */
import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { NotFound } from "../core/errors.ts";
import { didYouMean } from "../core/suggest.ts";
import { UsageError } from "./failure.ts";

export interface Profile {
  readonly url: string;
  readonly token?: string;
}

export interface Profiles {
  /** The one that `profile use` chose. */
  readonly current: string | null;
  readonly profiles: Readonly<Record<string, Profile>>;
}

type Env = Readonly<Record<string, string | undefined>>;

export const profilesFile = (env: Env = process.env): string =>
  join(env["XDG_CONFIG_HOME"] || join(homedir(), ".config"), "meridian", "config.json");

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export function checkProfileName(name: string): string {
  if (NAME.test(name)) return name;
  throw new UsageError(
    "bad_profile",
    `profile name ${JSON.stringify(name)} is not allowed: expected 1 to 64 letters, digits, ".", "_" or "-"`,
  );
}

export function readProfiles(env: Env = process.env): Profiles {
  const path = profilesFile(env);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { current: null, profiles: {} };
    throw new UsageError("bad_profiles", `${path} cannot be read: ${(error as Error).message}`);
  }
  const read = checked(text);
  if (read === null) {
    throw new UsageError(
      "bad_profiles",
      `${path} is not as \`meridian profile set\` writes it: expected {"current": NAME or null, "profiles": {NAME: {"url": …}}}; mend it or remove it`,
    );
  }
  const hasToken = Object.values(read.profiles).some(({ token }) => token !== undefined);
  if (hasToken && process.platform !== "win32" && (statSync(path).mode & 0o077) !== 0) {
    throw new UsageError("open_profiles", `${path} has tokens and others may read it: run chmod 600 ${path}`);
  }
  return read;
}

function checked(text: string): Profiles | null {
  try {
    const { current = null, profiles } = JSON.parse(text) as Record<string, unknown>;
    if (current !== null && typeof current !== "string") return null;
    if (typeof profiles !== "object" || profiles === null || Array.isArray(profiles)) return null;
    for (const { url, token } of Object.values(profiles as Record<string, Record<string, unknown>>)) {
      if (typeof url !== "string" || (token !== undefined && typeof token !== "string")) return null;
    }
    return { current, profiles: profiles as Record<string, Profile> };
  } catch {
    return null;
  }
}

/** Whole or not at all: another command may read it meanwhile. */
export function writeProfiles(profiles: Profiles, env: Env = process.env): void {
  const path = profilesFile(env);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const next = `${path}.${process.pid}`;
  writeFileSync(next, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600 });
  chmodSync(next, 0o600);
  renameSync(next, path);
}

export function profileOf(name: string, env: Env = process.env): Profile {
  const { profiles } = readProfiles(env);
  const found = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (found !== undefined) return found;
  const names = Object.keys(profiles);
  const known = names.length === 0 ? "there is none yet" : `there are ${names.join(", ")}`;
  throw new NotFound(
    "no_profile",
    `there is no profile "${name}"${didYouMean(name, names)}; ${known}: \`meridian profile set ${name} --url URL\` makes it`,
  );
}
