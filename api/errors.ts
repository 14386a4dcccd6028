import { randomUUID } from "node:crypto";
import { STATUS_CODES } from "node:http";
import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { type ErrorKind, MeridianError, Refused, Retryable } from "../core/errors.ts";
import { isAway } from "../db/connection.ts";
import type { Problem } from "./contracts.ts";
import type { AppDeps } from "./deps.ts";

/** What each kind of error is over HTTP. */
const STATUS_OF: Readonly<Record<ErrorKind, ContentfulStatusCode>> = {
  definition: 422,
  refused: 400,
  not_found: 404,
  conflict: 409,
  limited: 429,
  retryable: 503,
  terminal: 500,
};

/** Understood, and against a rule of the limits file rather than of the API. */
const STATUS_OF_CODE: Readonly<Record<string, ContentfulStatusCode>> = {
  over_cap: 422,
  queue_refused: 422,
};

export const PROBLEM_TYPE = "application/problem+json";

/** A problem answered by middleware, with a status that no kind of error has (403, 413, 415). */
export function problem(
  c: Context,
  status: ContentfulStatusCode,
  code: string,
  detail: string,
  details: Problem["details"] = {},
): Response {
  const body: Problem = {
    type: "about:blank",
    title: STATUS_CODES[status] ?? "Error",
    status,
    code,
    detail,
    details,
  };
  if (status === 503) c.header("Retry-After", "1");
  return c.body(JSON.stringify(body), status, { "Content-Type": PROBLEM_TYPE });
}

/** The last stop of every error. What we do not know is logged under an id, and only the id leaves. */
export const onError =
  (log: NonNullable<AppDeps["log"]>) =>
  (error: unknown, c: Context): Response => {
    if (error instanceof HTTPException) {
      const code = error.status === 400 ? "bad_json" : "http";
      return problem(c, error.status as ContentfulStatusCode, code, error.message);
    }
    const known = error instanceof MeridianError ? error : fromDatabase(error);
    if (known !== null) {
      if (known.kind === "retryable") log({ code: known.code, err: error }, known.message);
      const { retryAfterMs } = known.details;
      if (typeof retryAfterMs === "number") c.header("Retry-After", String(Math.ceil(retryAfterMs / 1000)));
      const status = STATUS_OF_CODE[known.code] ?? STATUS_OF[known.kind];
      return problem(c, status, known.code, known.message, { ...known.details });
    }
    const id = randomUUID();
    log({ id, method: c.req.method, path: c.req.path, err: error }, "unknown error");
    return problem(c, 500, "internal", `something went wrong here; the log has it under ${id}`, { id });
  };

/** Text that Postgres cannot hold: a NUL, or half a surrogate pair. */
const BAD_TEXT = new Set(["22021", "22P05", "22P02"]);

function fromDatabase(error: unknown): MeridianError | null {
  if (!(error instanceof Error)) return null;
  const code = "code" in error ? String(error.code) : "";
  if (isAway(error)) {
    return new Retryable("database_away", "the database does not answer; try again", { cause: error });
  }
  if (BAD_TEXT.has(code)) {
    return new Refused("bad_text", "the request holds characters that cannot be stored", { cause: error });
  }
  return null;
}
