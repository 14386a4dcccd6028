import { resolve } from "node:path";
import type { Config } from "../platform/config.ts";
import { reset } from "../platform/embedded/home.ts";

/** Empties the data folder, and says what went. */
export async function runReset(config: Pick<Config, "home">): Promise<void> {
  const folder = resolve(config.home);
  const removed = await reset(folder);
  console.log(
    removed.length === 0
      ? `${folder}: there was nothing to remove`
      : `${folder}: removed ${removed.join(", ")}`,
  );
}

/** What empties this very data folder, as it would be typed where `start` was. */
export function resetCommand(home: string, env: Readonly<Record<string, string | undefined>>): string {
  const command = env["npm_package_name"] === "meridian" ? "npm run reset" : "npx meridian reset";
  const given = env["MERIDIAN_HOME"];
  return given === undefined || given === "" ? command : `MERIDIAN_HOME=${quoted(resolve(home))} ${command}`;
}

const quoted = (path: string): string =>
  /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
