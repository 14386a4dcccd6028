import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createHttpClient, type HttpClient } from "../api/http-client.ts";
import { NotFound } from "../core/errors.ts";
import type { Config } from "../platform/config.ts";
import { processStart } from "../platform/embedded/process.ts";

interface Remembered {
  readonly url: string;
  readonly pid: number;
}

const isAlive = (pid: number): boolean => processStart(pid) !== null;
const fileIn = (config: Config): string => join(resolve(config.home), "api-url");

/**
 * Leaves the API's address in the data folder, where commands find it, unless another live API has left its own.
 * Answers what takes it back.
 */
export function rememberApi(config: Config, url: string): () => void {
  const before = remembered(config);
  if (before !== null && before.pid !== process.pid && isAlive(before.pid)) return () => undefined;
  mkdirSync(resolve(config.home), { recursive: true });
  writeFileSync(fileIn(config), `${JSON.stringify({ url, pid: process.pid } satisfies Remembered)}\n`);
  return () => {
    if (remembered(config)?.pid === process.pid) rmSync(fileIn(config), { force: true });
  };
}

/** The API that commands talk to: MERIDIAN_API, else the one that runs from this data folder. */
export function apiClient(config: Config): HttpClient {
  return createHttpClient(apiUrl(config));
}

function apiUrl(config: Config): string {
  if (config.apiUrl !== undefined) return config.apiUrl.replace(/\/$/, "");
  const found = remembered(config);
  if (found !== null && isAlive(found.pid)) return found.url;
  throw new NotFound(
    "no_api",
    `no API runs from the data folder ${resolve(config.home)}: start one (\`npm start\`), or name one by MERIDIAN_API or its folder by MERIDIAN_HOME`,
  );
}

function remembered(config: Config): Remembered | null {
  try {
    const { url, pid } = JSON.parse(readFileSync(fileIn(config), "utf8")) as Partial<Remembered>;
    return typeof url === "string" && typeof pid === "number" ? { url, pid } : null;
  } catch {
    return null;
  }
}
