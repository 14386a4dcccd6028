import { type ErrorKind, MeridianError } from "../core/errors.ts";

/** What the details of a problem hold, by its code. Codes that are not here have details of no fixed shape. */
export interface ProblemDetails {
  /** The logical date has its run already: this one. */
  run_exists: { readonly runId: string };
  /** `params` do not fit the DAG's schema. */
  bad_params: { readonly errors: readonly { readonly path: string; readonly message: string }[] };
  /** What a wait was to be ended with does not fit its schema. */
  bad_payload: { readonly errors: readonly { readonly path: string; readonly message: string }[] };
  /** A task asks for more cores than a run by hand may. */
  over_cap: { readonly taskId: string; readonly cores: number; readonly cap: number };
  /** A task asks for a queue that its tenant may not use. */
  queue_refused: { readonly tasks: readonly string[] };
  /** So many triggers in any stretch of `withinMs`, and they were there: again in `retryAfterMs`. */
  rate_limited: {
    readonly per: "dag" | "tenant" | "caller";
    readonly name: string;
    readonly triggers: number;
    readonly withinMs: number;
    readonly retryAfterMs: number;
  };
  /** So many runs wait for their places already. */
  too_many_queued: {
    readonly of: "dag" | "tenant";
    readonly name: string;
    readonly waiting: number;
    readonly most: number;
    readonly retryAfterMs: number;
  };
  /** A part of the request does not fit. */
  bad_request: { readonly issues: readonly { readonly at: string; readonly message: string }[] };
  pool_in_use: { readonly used: number; readonly waiting: number; readonly work: readonly unknown[] };
  /** Nothing was answered: the API is away, or another server stands there. */
  api_away: Readonly<Record<string, unknown>>;
  not_the_api: Readonly<Record<string, unknown>>;
  no_dag: Readonly<Record<string, unknown>>;
  no_run: Readonly<Record<string, unknown>>;
}

/** An answer that says no, or none at all. Match on `code`; `kind` says what to do next. */
export class ApiError extends MeridianError {
  /** Of the HTTP answer; 0: there was none. */
  readonly status: number;
  /** When the same may be asked again, ms from the answer; null: it did not say. */
  readonly retryAfterMs: number | null;

  constructor(
    status: number,
    kind: ErrorKind,
    code: string,
    message: string,
    options?: {
      cause?: unknown;
      details?: Readonly<Record<string, unknown>>;
      retryAfterMs?: number | null;
    },
  ) {
    super(kind, code, message, options);
    this.name = "ApiError";
    this.status = status;
    this.retryAfterMs = options?.retryAfterMs ?? null;
  }

  /**
   * Whether it is the problem of this code; its details are typed then.
   *
   * @example
   * if (error instanceof ApiError && error.is("run_exists")) console.log(error.details.runId);
   */
  is<Code extends keyof ProblemDetails>(
    code: Code,
  ): this is ApiError & { readonly code: Code; readonly details: ProblemDetails[Code] } {
    return this.code === code;
  }
}

/** What each status stands for; others below 500 count as refused, the rest as retryable. */
const KIND_OF: Readonly<Record<number, ErrorKind>> = {
  404: "not_found",
  409: "conflict",
  422: "definition",
  429: "limited",
  500: "terminal",
};

/** The error that an answer stands for; `text` is its body. */
export function errorOf(
  url: string,
  status: number,
  text: string,
  retryAfterMs: number | null = null,
): ApiError {
  const kind = KIND_OF[status] ?? (status < 500 ? "refused" : "retryable");
  const problem = problemOf(text);
  if (problem === null) {
    const said = `${url} answered ${status}, and not as the Meridian API does`;
    return new ApiError(status, kind, "not_the_api", said, { retryAfterMs });
  }
  return new ApiError(status, kind, problem.code, problem.detail, { details: problem.details, retryAfterMs });
}

function problemOf(
  text: string,
): { code: string; detail: string; details: Readonly<Record<string, unknown>> } | null {
  try {
    const { code, detail, details } = JSON.parse(text) as Record<string, unknown>;
    if (typeof code !== "string" || typeof detail !== "string") return null;
    return { code, detail, details: (details ?? {}) as Readonly<Record<string, unknown>> };
  } catch {
    return null;
  }
}
