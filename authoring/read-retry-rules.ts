/** The option `retryRules`: what to do about errors of one kind. */
import type { RetryRule } from "../core/retry.ts";
import { didYouMean } from "../core/suggest.ts";
import { DURATION_RULE, parseDuration } from "../core/duration.ts";
import type { Reader } from "./read.ts";
import { show } from "./show.ts";

const RULE = '{ error: "TimeoutError", action: "retry", delay: "10s" }';
const ACTIONS = ["retry", "fail", "wait"] as const;
const KEYS = ["error", "action", "delay"];

export const retryRules: Reader<readonly RetryRule[]> = (value) => {
  if (!Array.isArray(value)) return { expected: `a list of rules such as ${RULE}` };
  const rules: RetryRule[] = [];
  for (const [index, given] of (value as unknown[]).entries()) {
    const rule = readRule(given);
    if ("wrong" in rule) return { expected: "", hint: `; rule ${index + 1} of it ${rule.wrong}` };
    rules.push(rule.rule);
  }
  return { value: rules };
};

function readRule(given: unknown): { readonly rule: RetryRule } | { readonly wrong: string } {
  if (typeof given !== "object" || given === null) {
    return { wrong: `is ${show(given)}; expected an object such as ${RULE}` };
  }
  const { error, action, delay } = given as { error?: unknown; action?: unknown; delay?: unknown };
  const unknown = Object.keys(given).find((key) => !KEYS.includes(key));
  if (unknown !== undefined) {
    const instead = didYouMean(unknown, KEYS) || `; expected ${KEYS.join(", ")}`;
    return { wrong: `has ${JSON.stringify(unknown)}, which does not exist${instead}` };
  }
  const name = typeof error === "function" ? nameOf(error) : error;
  if (typeof name !== "string" || name === "") {
    return { wrong: `has ${show(error)} as error; expected the name of a class, the class itself, or "*"` };
  }
  const known = ACTIONS.find((one) => one === action);
  if (known === undefined) {
    return { wrong: `has ${show(action)} as action; expected "retry", "fail" or "wait"` };
  }
  if (delay === undefined) return { rule: { error: name, action: known } };
  const delayMs = parseDuration(delay);
  if (delayMs === undefined) return { wrong: `has ${show(delay)} as delay; expected ${DURATION_RULE}` };
  if (known === "fail") return { wrong: "fails at once, so its delay would not count; leave it out" };
  return { rule: { error: name, action: known, delayMs } };
}

/** As `outcome.ts` names what was thrown: by the name that its errors have, else by that of the class. */
function nameOf(error: { readonly name: string; readonly prototype?: unknown }): string {
  const own = (error.prototype as { name?: unknown } | undefined)?.name;
  return typeof own === "string" && own !== "" && own !== "Error" ? own : error.name;
}
