/** What a field expects, in words. Pure. */
import type { Field } from "./fields.ts";

/** zod bounds each whole number by these; they say nothing. */
const isTold = (bound: unknown): bound is number =>
  typeof bound === "number" && Math.abs(bound) !== Number.MAX_SAFE_INTEGER;

export function rulesInWords({ kind, rules }: Field, zone: string): string {
  if (kind === "date") return "a day, like 2026-05-09";
  if (kind === "date-time") return `a day, with a time if you like, in ${zone}`;
  if (kind === "number") return numberInWords(rules);
  if (kind === "text") return textInWords(rules);
  if (kind !== "json") return "";
  const { type, items } = rules;
  if (type === "array") {
    const of =
      typeof items === "object" && items !== null && "type" in items ? ` of ${String(items.type)}s` : "";
    return `a list${of}, as JSON`;
  }
  return type === "object" ? "an object, as JSON" : "JSON";
}

function numberInWords(rules: Field["rules"]): string {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = rules;
  const what = rules["type"] === "integer" ? "a whole number" : "a number";
  const parts = [
    isTold(minimum) && isTold(maximum) ? `from ${minimum} to ${maximum}` : "",
    isTold(minimum) && !isTold(maximum) ? `from ${minimum}` : "",
    isTold(maximum) && !isTold(minimum) ? `up to ${maximum}` : "",
    isTold(exclusiveMinimum) ? `above ${exclusiveMinimum}` : "",
    isTold(exclusiveMaximum) ? `below ${exclusiveMaximum}` : "",
    isTold(multipleOf) ? `in steps of ${multipleOf}` : "",
  ].filter((part) => part !== "");
  return [what, ...parts].join(" ");
}

function textInWords(rules: Field["rules"]): string {
  const { minLength, maxLength, pattern, format } = rules;
  const parts = [
    typeof format === "string" ? format : "",
    isTold(minLength) && isTold(maxLength) ? `${minLength} to ${maxLength} characters` : "",
    isTold(minLength) && !isTold(maxLength) ? `at least ${minLength} characters` : "",
    isTold(maxLength) && !isTold(minLength) ? `at most ${maxLength} characters` : "",
    typeof pattern === "string" && format === undefined ? `matching ${pattern}` : "",
  ].filter((part) => part !== "");
  return parts.join(", ");
}
