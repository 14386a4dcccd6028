/** What a command ends with: one clear line on stderr, and an exit code that says what to do next. */
import { CommanderError } from "commander";
import { MeridianError, Refused } from "../core/errors.ts";

export const EXIT = {
  ok: 0,
  /** What was asked for was done, and did not turn out well: a run failed, a file does not import. */
  failed: 1,
  /** The command itself is wrong: an option, an argument, a setting. */
  usage: 2,
  notFound: 3,
  /** Understood, and not done. */
  refused: 4,
  /** Nobody answers, or whoever does is no Meridian API. */
  unreachable: 5,
  /** `--timeout` is over; the run goes on. */
  unfinished: 6,
  /** Ctrl-C, as shells count it. */
  interrupted: 130,
} as const;

/** The command was called wrongly. */
export class UsageError extends Refused {
  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(code, message, options);
    this.name = "UsageError";
  }
}

/** Thrown to end with a code, its word said already. */
export class Ended extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`ended with ${exitCode}`);
    this.exitCode = exitCode;
  }
}

/** Codes whose cause is how the command was called or set up, whatever their kind. */
const USAGE = new Set([
  "unknown_setting",
  "bad_setting",
  "bad_url",
  "no_database_url",
  "no_temporal_address",
  "bad_conf",
  "bad_json",
  "bad_input",
  "bad_option",
]);
const UNREACHABLE = new Set(["no_api", "api_away", "not_the_api", "database_away", "database_unreachable"]);

export function exitCodeOf(error: unknown): number {
  if (error instanceof Ended) return error.exitCode;
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (!(error instanceof MeridianError)) return EXIT.failed;
  if (error instanceof UsageError || USAGE.has(error.code)) return EXIT.usage;
  if (error.code === "wait_timeout") return EXIT.unfinished;
  if (UNREACHABLE.has(error.code)) return EXIT.unreachable;
  if (error.kind === "not_found") return EXIT.notFound;
  if (error.kind === "refused" || error.kind === "conflict" || error.kind === "limited") return EXIT.refused;
  if (error.kind === "retryable") return EXIT.unreachable;
  // What the API says of an author's text (422) is a refusal; a file looked at here has failed.
  if (error.kind === "definition" && "status" in error) return EXIT.refused;
  return EXIT.failed;
}

/** Says what went wrong, unless commander has said it, and ends the process. */
export function fail(error: unknown): never {
  if (error instanceof MeridianError) console.error(`error: ${error.message}`);
  else if (!(error instanceof CommanderError) && !(error instanceof Ended)) console.error(error);
  process.exit(exitCodeOf(error));
}
