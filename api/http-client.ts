import { hc } from "hono/client";
import { type ErrorKind, MeridianError, Retryable } from "../core/errors.ts";
import type { AppType } from "./app.ts";
import { Problem } from "./contracts.ts";
import { STATUS_OF } from "./errors.ts";

export type HttpClient = ReturnType<typeof createHttpClient>;

/**
 * The typed client of the API, for programs. An answer that is not a good one is thrown as the MeridianError it was.
 * Ids go into the address as they are: check them (`core/ids.ts`) before calling.
 *
 * @example
 * const api = createHttpClient("http://127.0.0.1:8080");
 * const { dags } = await (await api.dags.$get({ query: {} })).json();
 */
export function createHttpClient(baseUrl: string, fetcher: typeof fetch = fetch) {
  const client = hc<AppType>(baseUrl, {
    fetch: async (input: Parameters<typeof fetch>[0], init?: RequestInit) => {
      const response = await fetcher(input, init).catch((cause: unknown) => {
        throw new Retryable("api_away", `cannot reach the API at ${baseUrl}: ${reason(cause)}`, { cause });
      });
      if (response.ok || response.status === 304) return response;
      throw await errorOf(response, baseUrl);
    },
  });
  return client.api.v1;
}

const reason = (cause: unknown): string => {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  return inner instanceof Error ? inner.message : String(inner);
};

const KINDS = Object.keys(STATUS_OF) as ErrorKind[];

/** The error a problem stands for; other refusals (403, 413, 415) count as refused, other failures as retryable. */
async function errorOf(response: Response, baseUrl: string): Promise<MeridianError> {
  const { status } = response;
  const kind = KINDS.find((k) => STATUS_OF[k] === status) ?? (status < 500 ? "refused" : "retryable");
  const parsed = Problem.safeParse(await response.json().catch(() => null));
  if (parsed.success) {
    const { code, detail, details } = parsed.data;
    return new MeridianError(kind, code, detail, { details });
  }
  return new MeridianError(
    kind,
    "not_the_api",
    `${baseUrl} answered ${status}, and not as the Meridian API does`,
  );
}
