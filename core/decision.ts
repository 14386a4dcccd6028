/** What a run must know of an output: its items, when others are mapped over it, and what it decides. Pure. */
import type { BodyError, BodyOutcome } from "./body.ts";
import type { Measured } from "./mapping.ts";
import { didYouMean } from "./suggest.ts";

/** What is to be told of an output beside itself. */
export interface AskedOfOutput {
  /** Others are mapped over it. */
  readonly items?: true;
  /** It decides what follows: a branch among these task ids, or a short circuit whether anything does. */
  readonly decides?: Decides;
}

type Decides =
  | { readonly kind: "branch"; readonly among: readonly string[] }
  | { readonly kind: "short_circuit" };

type Told = Pick<Extract<BodyOutcome, { kind: "success" }>, "follow" | "measured">;

export function tellOf(value: unknown, asked: AskedOfOutput): Told | { readonly error: BodyError } {
  const measured = asked.items === true ? { measured: measure(value) } : {};
  if (asked.decides === undefined) return measured;
  const follow = followOf(value, asked.decides);
  return "error" in follow ? follow : { ...measured, ...follow };
}

/** As in Python, but only what is plainly nothing stops a short circuit: false, null, undefined, 0, "" and []. */
function followOf(value: unknown, decides: Decides): { follow: string[] } | { error: BodyError } {
  if (decides.kind === "short_circuit") {
    const isNothing = !value || (Array.isArray(value) && value.length === 0);
    return { follow: isNothing ? [] : [GOES_ON] };
  }
  const chosen = value === null || value === undefined ? [] : Array.isArray(value) ? value : [value];
  for (const one of chosen as unknown[]) {
    if (typeof one === "string" && decides.among.includes(one)) continue;
    const given = typeof one === "string" ? JSON.stringify(one) : kindOf(one);
    const hint = typeof one === "string" ? didYouMean(one, decides.among) : "";
    const they = decides.among.length === 0 ? "there are none" : `they are ${decides.among.join(", ")}`;
    const message = `a branch answers which of the tasks right after it follow, and ${given} is none of them${hint || `: ${they}`}`;
    return { error: { code: "bad_branch", message, retryable: false } };
  }
  return { follow: chosen as string[] };
}

/** A short circuit chooses nobody: all that follows goes by its rules. */
const GOES_ON = "*";

function measure(value: unknown): Measured {
  return Array.isArray(value) ? { items: value.length } : { not: kindOf(value) };
}

const SHOWN = 40;

function kindOf(value: unknown): string {
  if (typeof value === "string") {
    const text = value.length > SHOWN ? `${value.slice(0, SHOWN)}…` : value;
    return `the text ${JSON.stringify(text)}`;
  }
  if (value === null || value === undefined) return String(value);
  if (typeof value === "object") return "an object";
  return `the ${typeof value} ${String(value as number | boolean)}`;
}
