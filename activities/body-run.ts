import type { BodyContext, BodyOutcome, LogLine, StoredValue } from "../core/body.ts";
import { NotFound } from "../core/errors.ts";
import { outputKey } from "../platform/objects/keys.ts";
import type { Borrowed, LargeValues, Waiting } from "./large-values.ts";
import { failed, reasonOf } from "./runner/outcomes.ts";
import type { BodyJob, Runner } from "./runner/types.ts";
import type { TryInputs } from "./try-records.ts";

export interface BodyRunDeps {
  readonly runner: Runner;
  readonly values: LargeValues;
}

export interface BodyRun extends Omit<BodyJob, "inputs" | "inputFiles"> {
  readonly inputs: TryInputs;
  /** Input name to the upstream task whose output it takes. */
  readonly upstreams: Readonly<Record<string, string>>;
}

export interface BodyEnd {
  readonly outcome: BodyOutcome;
  /** Where a large output is; the outcome's is null then. */
  readonly stored: StoredValue | null;
}

/** A body with its large values brought to it and taken from it. */
export async function runBody(
  { runner, values }: BodyRunDeps,
  { inputs, upstreams, ...job }: BodyRun,
  signal: AbortSignal,
  log: (line: LogLine) => void,
): Promise<BodyEnd> {
  const waiting: Waiting = { signal, note: (text) => log({ at: Date.now(), level: "warn", text }) };
  const borrowed: Borrowed[] = [];
  try {
    const inputFiles: Record<string, string> = {};
    for (const [name, value] of Object.entries(inputs.stored)) {
      const copy = await values.borrow(value, waiting).catch((error: unknown) => {
        throw missingInput(error, name, upstreams[name]);
      });
      borrowed.push(copy);
      inputFiles[name] = copy.path;
    }
    const outcome = await runner.run({ ...job, inputs: inputs.values, inputFiles }, signal, log);
    if (outcome.kind !== "success" || outcome.spooled === undefined) return { outcome, stored: null };
    const stored = await values.keep(keyOf(job.context), outcome.spooled, waiting);
    return { outcome: { kind: "success", output: null }, stored };
  } catch (error) {
    return { outcome: endedBy(error, signal), stored: null };
  } finally {
    for (const copy of borrowed) copy.release();
  }
}

const keyOf = ({ dagId, runId, taskId, mapIndex, try: number }: BodyContext): string =>
  outputKey({ dagId, runId, taskId, mapIndex, try: number });

function missingInput(error: unknown, name: string, upstream: string | undefined): unknown {
  if (!(error instanceof NotFound)) return error;
  return new NotFound(
    "input_missing",
    `input "${name}", the output of task "${upstream}", is not there any more: ${error.message}. Run task "${upstream}" again`,
    { cause: error },
  );
}

/** Waiting for the store ends by a stop, or by an answer of the store that is no good. */
function endedBy(error: unknown, signal: AbortSignal): BodyOutcome {
  if (signal.aborted) return { kind: "cancelled", message: reasonOf(signal) };
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  return failed(typeof code === "string" ? code : "large_value", String(message));
}
