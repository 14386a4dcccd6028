import type { ChildAnswer } from "./import-child.ts";
import { networkMessage } from "./network-message.ts";
import type { ImpureCall, RawError } from "./protocol.ts";

type Good = Extract<ChildAnswer, { kind: "ok" }>;

/** What an import that went well did besides, as an error of the file; null when it did nothing of the kind. */
export function networkError(answer: Good): RawError | null {
  const call = answer.impure.find(({ kind }) => kind === "network");
  return call === undefined ? null : asError("network_at_import", networkMessage(call.call), call);
}

/** Whether it has to be imported once more, `shifted`, to see whether its DAGs depend on what it read. */
export const isInDoubt = (answer: Good): boolean =>
  answer.impure.some(({ kind }) => kind === "clock" || kind === "random");

/** The DAGs of a second, shifted import came out otherwise: each import would be another version (K62). */
export function changingError(first: Good, second: Good): RawError | null {
  if (first.graphs.join("\n") === second.graphs.join("\n")) return null;
  // With both, which of them did it is not known; the clock is the usual cause.
  const call =
    first.impure.find(({ kind }) => kind === "clock") ?? first.impure.find(({ kind }) => kind === "random")!;
  const [code, instead] =
    call.kind === "clock"
      ? [
          "clock_at_import",
          "write a fixed date, or take dates from the run's interval in a task (ds, dataInterval)",
        ]
      : ["random_at_import", "write a fixed value, or draw it in a task"];
  return asError(
    code!,
    `${call.call} at import: what the file defines depends on it, so each import would be another version; ${instead}`,
    call,
  );
}

/** With the stack of the call, so that the error names the author's line. */
const asError = (code: string, message: string, { call, stack }: ImpureCall): RawError => ({
  code,
  message,
  stack: stack.replace(`Error: ${call}`, `Error: ${message}`),
});
