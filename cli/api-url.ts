import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { NotFound } from "../core/errors.ts";
import type { Config } from "../platform/config.ts";
import { processStart } from "../platform/embedded/process.ts";
import { startCall } from "./call.ts";

interface Remembered {
  readonly url: string;
  readonly pid: number;
}

const isAlive = (pid: number): boolean => processStart(pid) !== null;
const fileIn = (home: string): string => join(resolve(home), "api-url");

/**
 * Leaves the API's address in the data folder, where commands find it, unless another live API has left its own.
 * Answers what takes it back.
 */
export function rememberApi(config: Config, url: string): () => void {
  const before = remembered(config.home);
  if (before !== null && before.pid !== process.pid && isAlive(before.pid)) return () => undefined;
  mkdirSync(resolve(config.home), { recursive: true });
  writeFileSync(fileIn(config.home), `${JSON.stringify({ url, pid: process.pid } satisfies Remembered)}\n`);
  return () => {
    if (remembered(config.home)?.pid === process.pid) rmSync(fileIn(config.home), { force: true });
  };
}

/** The API that runs from a data folder. */
export function runningApi(home: string): string {
  const found = remembered(home);
  if (found !== null && isAlive(found.pid)) return found.url;
  throw new NotFound(
    "no_api",
    `no API runs from the data folder ${resolve(home)}: start one (\`${startCall()}\`), or name one by --url, --profile, MERIDIAN_API_URL, or its folder by MERIDIAN_HOME`,
  );
}

function remembered(home: string): Remembered | null {
  try {
    const { url, pid } = JSON.parse(readFileSync(fileIn(home), "utf8")) as Partial<Remembered>;
    return typeof url === "string" && typeof pid === "number" ? { url, pid } : null;
  } catch {
    return null;
  }
}
