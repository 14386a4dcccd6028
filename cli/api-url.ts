import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createHttpClient, type HttpClient } from "../api/http-client.ts";
import type { Config } from "../platform/config.ts";

const fileIn = (config: Config): string => join(resolve(config.home), "api-url");

/** Leaves the API's address in the data folder, where commands find it. */
export function rememberApi(config: Config, url: string): void {
  mkdirSync(resolve(config.home), { recursive: true });
  writeFileSync(fileIn(config), `${url}\n`);
}

/** The API that commands talk to: MERIDIAN_API, else the one that runs (or ran last) from this data folder. */
export function apiClient(config: Config): HttpClient {
  return createHttpClient(apiUrl(config));
}

function apiUrl(config: Config): string {
  if (config.apiUrl !== undefined) return config.apiUrl.replace(/\/$/, "");
  try {
    return readFileSync(fileIn(config), "utf8").trim();
  } catch {
    return "http://127.0.0.1:8080";
  }
}
