/** The one place that talks to the API: ETags, and errors that say what happened. */
import type { Problem } from "../../../api/contracts.ts";

export const API = "/api/v1";

/** Who changed it, as runs and pauses show it, until there are users. */
const FROM = { "x-meridian-user": "page" };

/** An answer that says no. `code` is stable; match on it. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    status: number,
    code: string,
    message: string,
    details: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** No answer at all, or a proxy's answer in place of the API's. */
export class Unreachable extends Error {
  constructor(cause: unknown) {
    super("Cannot reach the API", { cause });
    this.name = "Unreachable";
  }
}

const AWAY: ReadonlySet<number> = new Set([502, 503, 504]);

/** What polled answers looked like last, so that an unchanged one costs a 304 and keeps its identity (no repaint). */
const cache = new Map<string, { readonly etag: string; readonly data: unknown }>();
/** More than the page ever polls at once; the oldest goes first. */
const CACHE_SIZE = 40;

function keep(url: string, etag: string, data: unknown): void {
  cache.delete(url);
  cache.set(url, { etag, data });
  const oldest = cache.keys().next();
  if (cache.size > CACHE_SIZE && oldest.done !== true) cache.delete(oldest.value);
}

async function send(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...init, cache: "no-store", credentials: "same-origin" });
  } catch (cause) {
    if (init.signal?.aborted === true) throw cause;
    throw new Unreachable(cause);
  }
}

function isProblem(response: Response): boolean {
  return response.headers.get("content-type")?.includes("problem+json") ?? false;
}

async function failureOf(response: Response): Promise<Error> {
  if (isProblem(response)) {
    const problem = (await response.json()) as Problem;
    return new ApiError(response.status, problem.code, problem.detail, problem.details);
  }
  if (AWAY.has(response.status)) return new Unreachable(response.status);
  return new ApiError(
    response.status,
    `http_${response.status}`,
    `${response.status} ${response.statusText}`,
  );
}

export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  const url = API + path;
  const known = cache.get(url);
  const headers = known === undefined ? undefined : { "if-none-match": known.etag };
  const response = await send(url, { ...(headers && { headers }), ...(signal && { signal }) });
  if (response.status === 304 && known !== undefined) return known.data as T;
  if (!response.ok) throw await failureOf(response);
  const data = (await response.json()) as T;
  const etag = response.headers.get("etag");
  if (etag !== null) keep(url, etag, data);
  return data;
}

/** `idempotencyKey`: the same for every attempt at the same wish, so that a repeat after a lost answer does nothing twice. */
export async function postJson<T>(path: string, body: unknown, idempotencyKey: string): Promise<T> {
  const headers = { ...FROM, "content-type": "application/json", "idempotency-key": idempotencyKey };
  const response = await send(API + path, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw await failureOf(response);
  return (await response.json()) as T;
}

/** The answer has no body. */
export async function deleteAt(path: string): Promise<void> {
  const response = await send(API + path, { method: "DELETE", headers: FROM });
  if (!response.ok) throw await failureOf(response);
}

/** Works where `crypto.randomUUID` does not: on plain http by another name than localhost. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}

type QueryValue = string | number | boolean | null;

/** Query text of what is set: `?a=1&b=2` or nothing. A list is written once for each of its values. */
export function queryOf(values: Readonly<Record<string, QueryValue | readonly string[]>>): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) {
    if (typeof value === "object" && value !== null) for (const one of value) query.append(key, one);
    else if (value !== null && value !== "") query.set(key, String(value));
  }
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}
