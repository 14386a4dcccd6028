import type { BodyContext, BodyOutcome, LogLine, StoredValue } from "../core/body.ts";
import { NotFound } from "../core/errors.ts";
import { outputKey } from "../platform/objects/keys.ts";
import type { Borrowed, LargeValues, Waiting } from "./large-values.ts";
import { failed, stoppedAs } from "./runner/outcomes.ts";
import type { BodyJob, FileInput, Runner } from "./runner/types.ts";
import type { InputRef } from "../core/inputs.ts";
import type { StoredInput, TryInputs } from "./try-inputs.ts";

export interface BodyRunDeps {
  readonly runner: Runner;
  readonly values: LargeValues;
}

export interface BodyRun extends Omit<BodyJob, "inputs" | "inputFiles"> {
  readonly inputs: TryInputs;
  /** By name: where each input comes from. */
  readonly refs: Readonly<Record<string, InputRef>>;
}

export interface BodyEnd {
  readonly outcome: BodyOutcome;
  /** Where a large output is; the outcome's is null then. */
  readonly stored: StoredValue | null;
}

/** A body with its large values brought to it and taken from it. */
export async function runBody(
  { runner, values }: BodyRunDeps,
  { inputs, refs, ...job }: BodyRun,
  signal: AbortSignal,
  log: (line: LogLine) => void,
): Promise<BodyEnd> {
  const waiting: Waiting = { signal, note: (text) => log({ at: Date.now(), level: "warn", text }) };
  const borrowed: Borrowed[] = [];
  try {
    const inputFiles: Record<string, FileInput> = {};
    for (const [name, input] of Object.entries(inputs.stored)) {
      inputFiles[name] = await fileInput(input, async (value) => {
        const copy = await values.borrow(value, waiting).catch((error: unknown) => {
          throw missingInput(error, name, refs[name]);
        });
        borrowed.push(copy);
        return copy.path;
      });
    }
    const outcome = await runner.run({ ...job, inputs: inputs.values, inputFiles }, signal, log);
    if (outcome.kind !== "success" || outcome.spooled === undefined) return { outcome, stored: null };
    const stored = await values.keep(keyOf(job.context), outcome.spooled, waiting);
    const { spooled: _, ...rest } = outcome;
    return { outcome: { ...rest, output: null }, stored };
  } catch (error) {
    return { outcome: endedBy(error, signal), stored: null };
  } finally {
    for (const copy of borrowed) copy.release();
  }
}

const keyOf = ({ dagId, runId, taskId, mapIndex, try: number }: BodyContext): string =>
  outputKey({ dagId, runId, taskId, mapIndex, try: number });

async function fileInput(
  input: StoredInput,
  pathOf: (value: StoredValue) => Promise<string>,
): Promise<FileInput> {
  if ("stored" in input) {
    const path = await pathOf(input.stored);
    return input.pick === undefined ? { path } : { path, pick: input.pick };
  }
  const parts = [];
  // One after the other: there may be hundreds of large ones.
  for (const part of input.parts) parts.push("value" in part ? part : { path: await pathOf(part.stored) });
  return { parts };
}

function missingInput(error: unknown, name: string, ref: InputRef | undefined): unknown {
  if (!(error instanceof NotFound) || ref === undefined) return error;
  const upstream = typeof ref === "string" ? ref : "task" in ref ? ref.task : "";
  return new NotFound(
    "input_missing",
    `input "${name}", the output of task "${upstream}", is not there any more: ${error.message}. Run task "${upstream}" again`,
    { cause: error },
  );
}

/** Waiting for the store ends by a stop, or by an answer of the store that is no good. */
function endedBy(error: unknown, signal: AbortSignal): BodyOutcome {
  if (signal.aborted) return stoppedAs(signal);
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  return failed(typeof code === "string" ? code : "large_value", String(message));
}
