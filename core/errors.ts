/**
 * One small class per *next step*. Match on `code`, never on `instanceof` across the workflow
 * sandbox. A message says what, where, what was expected and what to do.
 */
export type ErrorKind =
  | "definition"
  | "refused"
  | "not_found"
  | "conflict"
  | "limited"
  | "retryable"
  | "terminal";

export class MeridianError extends Error {
  readonly kind: ErrorKind;
  /** Stable, snake_case, safe to match on. */
  readonly code: string;
  /** Values a program may want; plain JSON. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    kind: ErrorKind,
    code: string,
    message: string,
    options: { cause?: unknown; details?: Readonly<Record<string, unknown>> } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.code = code;
    this.details = options.details ?? {};
    this.name = NAMES[kind];
  }

  /** `console.error(error)` in a body: the code says more than the class. */
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    const frames = this.stack?.split("\n").filter((line) => /^\s+at /.test(line)) ?? [];
    return [`${this.code}: ${this.message}`, ...frames].join("\n");
  }
}

const NAMES: Record<ErrorKind, string> = {
  definition: "DefinitionError",
  refused: "Refused",
  not_found: "NotFound",
  conflict: "Conflict",
  limited: "Limited",
  retryable: "Retryable",
  terminal: "Terminal",
};

type Options = { cause?: unknown; details?: Readonly<Record<string, unknown>> };

/** The author's text is wrong: fix the DAG file. */
export class DefinitionError extends MeridianError {
  constructor(code: string, message: string, options?: Options) {
    super("definition", code, message, options);
  }
}

/** Understood, and not done: the caller must change the request. */
export class Refused extends MeridianError {
  constructor(code: string, message: string, options?: Options) {
    super("refused", code, message, options);
  }
}

/** The thing named does not exist. */
export class NotFound extends MeridianError {
  constructor(code: string, message: string, options?: Options) {
    super("not_found", code, message, options);
  }
}

/** The thing exists already, or is in a state that forbids this. */
export class Conflict extends MeridianError {
  constructor(code: string, message: string, options?: Options) {
    super("conflict", code, message, options);
  }
}

/** A limit stands against it for now: the same again after `details.retryAfterMs`. */
export class Limited extends MeridianError {
  constructor(code: string, message: string, retryAfterMs: number, details: Options["details"] = {}) {
    super("limited", code, message, { details: { ...details, retryAfterMs } });
  }
}

/** Try the same again later. */
export class Retryable extends MeridianError {
  constructor(code: string, message: string, options?: Options) {
    super("retryable", code, message, options);
  }
}

/** Trying again cannot help. */
export class Terminal extends MeridianError {
  constructor(code: string, message: string, options?: Options) {
    super("terminal", code, message, options);
  }
}
