/** One request over HTTP: repeated when that is safe and may help, with the same idempotency key. */
import { Refused } from "../core/errors.ts";
import { ApiError, errorOf } from "./errors.ts";

export interface ConnectOptions {
  /** Address of the API, such as `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Sent as `Authorization: Bearer …`; a function is asked for each attempt. */
  readonly token?: string | (() => string | Promise<string>) | undefined;
  /** Who asks, such as `anna@ci`: told beside what is changed. Nobody checks it; it gives no rights. */
  readonly user?: string | undefined;
  /** How often a request is sent at the most. Default 5: four repeats, over about 3 s. */
  readonly attempts?: number;
  /** Longest wait for one answer, ms. Default 30 000. */
  readonly timeoutMs?: number;
  /**
   * How many answers that carry an ETag (grids do) are kept, the ones last read. One that has not changed when it is
   * asked for again costs a 304 and is given as the same object: do not change it. Default 0.
   */
  readonly remember?: number | undefined;
  /** In place of the global one. */
  readonly fetch?: typeof fetch;
}

/** For any call. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** For a call that follows what happens. */
export interface StreamOptions extends CallOptions {
  /** Hears that the connection is lost, or could not be made; it is opened again without help. */
  readonly onBreak?: (() => void) | undefined;
}

/** For a call that changes something. */
export interface ChangeOptions extends CallOptions {
  /** The same key is done once, also by another process. Default: one made for this call. */
  readonly idempotencyKey?: string | undefined;
}

type QueryValue = string | number | boolean | readonly string[] | null | undefined;
type Query = Readonly<Record<string, QueryValue>>;

interface Request extends CallOptions {
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  readonly query?: object | undefined;
  readonly body?: unknown;
  readonly idempotencyKey?: string | undefined;
  /** Whether an answer of another status than the good ones is one too, by its body. */
  readonly also?: (status: number, data: unknown) => boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Kept {
  readonly etag: string;
  readonly data: unknown;
}

const ATTEMPTS = 5;
const TIMEOUT_MS = 30_000;
const FIRST_REST_MS = 200;
/** A server that asks for more patience gets no more than this at a time. */
const LONGEST_REST_MS = 30_000;
/** A limit that stands for longer than this is told at once, and not waited for. */
const LONGEST_LIMIT_MS = 5_000;
const AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** The way to one API. */
export class Http {
  readonly url: string;
  readonly #options: ConnectOptions;
  readonly #fetch: typeof fetch;
  readonly #kept = new Map<string, Kept>();

  constructor(options: ConnectOptions) {
    this.url = options.url.replace(/\/+$/, "");
    if (!/^https?:\/\/./.test(this.url)) {
      const text = `url ${JSON.stringify(options.url)} is not usable: expected one such as http://127.0.0.1:8080`;
      throw new Refused("bad_url", text);
    }
    this.#options = options;
    // Called without an object: a browser refuses its fetch as a method of another one.
    const given = options.fetch ?? fetch;
    this.#fetch = async (input, init) => await given(input, init);
  }

  /** The body of a good answer. */
  async json<T>(path: string, request: Request = {}): Promise<T> {
    const changes = (request.method ?? "GET") !== "GET";
    const key = changes ? (request.idempotencyKey ?? newKey()) : undefined;
    const attempts = this.#options.attempts ?? ATTEMPTS;
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#attempt(path, request, key);
      if ("data" in answer) return answer.data as T;
      const { error } = answer;
      const restMs = error.retryAfterMs;
      // A repeat can meet its own first attempt, which is being done still.
      const again =
        error.status === 0 || AGAIN.has(error.status) || (attempt > 1 && error.code === "in_progress");
      const isLimited = error.status === 429 && restMs !== null && restMs > LONGEST_LIMIT_MS;
      if (!again || isLimited || attempt >= attempts) throw error;
      await rest(
        restMs === null
          ? FIRST_REST_MS * 2 ** (attempt - 1) * (0.5 + Math.random())
          : Math.min(restMs, LONGEST_REST_MS),
        request.signal,
      );
    }
  }

  /** Sends once. An answer that is no good one is thrown; the body is left to the caller, who may take its time. */
  async open(path: string, request: Request): Promise<Response> {
    let response: Response;
    try {
      response = await this.#send(path, request, undefined, request.signal);
    } catch (cause) {
      request.signal?.throwIfAborted();
      throw this.#away(cause);
    }
    if (response.ok) return response;
    throw errorOf(this.url, response.status, await response.text().catch(() => ""), restAsked(response));
  }

  async #attempt(
    path: string,
    request: Request,
    key: string | undefined,
  ): Promise<{ data: unknown } | { error: ApiError }> {
    const { signal } = request;
    signal?.throwIfAborted();
    const late = AbortSignal.timeout(this.#options.timeoutMs ?? TIMEOUT_MS);
    try {
      const within = signal === undefined ? late : AbortSignal.any([signal, late]);
      const name = key === undefined ? `${path}${queryText(request.query as Query | undefined)}` : null;
      const kept = name === null ? undefined : this.#kept.get(name);
      const headers = { ...request.headers, ...(kept !== undefined && { "if-none-match": kept.etag }) };
      const response = await this.#send(path, { ...request, headers }, key, within);
      if (response.status === 304 && kept !== undefined) return { data: kept.data };
      const text = await response.text();
      const read = parsed(text);
      const isGood = response.ok || request.also?.(response.status, read?.data) === true;
      if (isGood && read !== undefined) {
        const etag = response.headers.get("etag");
        if (name !== null && etag !== null) this.#keep(name, { etag, data: read.data });
        return read;
      }
      return { error: errorOf(this.url, response.status, text, restAsked(response)) };
    } catch (cause) {
      signal?.throwIfAborted();
      return { error: this.#away(cause) };
    }
  }

  #keep(name: string, answer: Kept): void {
    this.#kept.delete(name);
    this.#kept.set(name, answer);
    const oldest = this.#kept.keys().next();
    if (this.#kept.size > (this.#options.remember ?? 0) && oldest.done !== true)
      this.#kept.delete(oldest.value);
  }

  async #send(
    path: string,
    { method = "GET", query, body, headers }: Request,
    key: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    const { token, user } = this.#options;
    const bearer = typeof token === "function" ? await token() : token;
    return await this.#fetch(`${this.url}/api/v1${path}${queryText(query as Query | undefined)}`, {
      method,
      headers: {
        ...headers,
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        ...(user !== undefined && { "x-meridian-user": encodeURIComponent(user) }),
        ...(key !== undefined && { "idempotency-key": key }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
    });
  }

  #away(cause: unknown): ApiError {
    const text = `cannot reach the API at ${this.url}: ${reason(cause)}`;
    return new ApiError(0, "retryable", "api_away", text, { cause });
  }
}

/** undefined: not JSON, so another server stands there. */
function parsed(text: string): { data: unknown } | undefined {
  try {
    return { data: text === "" ? null : (JSON.parse(text) as unknown) };
  } catch {
    return undefined;
  }
}

const reason = (cause: unknown): string => {
  if (cause instanceof DOMException && cause.name === "TimeoutError") return "no answer in time";
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  return inner instanceof Error ? inner.message || inner.name : String(inner);
};

function restAsked(response: Response): number | null {
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  return Number.isFinite(seconds) ? seconds * 1000 : null;
}

/** Waits; ends with the signal's reason when it comes first. */
export async function rest(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal!.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** An idempotency key. Made where `crypto.randomUUID` is not: in a page on plain http by another name than localhost. */
export const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join(
    "",
  );

/** Parts of a path. `.` and `..` would be taken away on the way, and another thing asked for. */
export function pathOf(...parts: readonly (string | number)[]): string {
  return parts
    .map((part) => {
      const text = String(part);
      if (text !== "" && text !== "." && text !== "..") return `/${encodeURIComponent(text)}`;
      throw new Refused("bad_id", `id ${JSON.stringify(text)} is not allowed in an address`);
    })
    .join("");
}

function queryText(query: Query = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]): [string, string][] => {
    if (value === null || value === undefined) return [];
    return (Array.isArray(value) ? value : [value]).map((one) => [name, String(one)]);
  });
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs).toString()}`;
}
