/** What zod says of a request by itself, in plain words. Messages of our own schemas are left as they are. */
import type { z } from "@hono/zod-openapi";

type Issue = z.core.$ZodIssue;

const BY_ITSELF = /^(?:Invalid|Too (?:big|small)|Unrecognized)\b/;

const THINGS: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

/** Of what is counted, by zod's word for it. */
const COUNTED: Readonly<Record<string, string>> = { string: " characters", array: " items", set: " items" };

export function inWords(issue: Issue): string {
  if (!BY_ITSELF.test(issue.message)) return issue.message;
  switch (issue.code) {
    case "invalid_value":
      return `expected ${orList(issue.values.map(String))}`;
    case "invalid_type":
      return issue.message.endsWith("received undefined")
        ? `missing: expected ${THINGS[issue.expected] ?? issue.expected}`
        : `expected ${THINGS[issue.expected] ?? issue.expected}`;
    case "too_big":
      return `expected at most ${issue.maximum}${COUNTED[issue.origin] ?? ""}`;
    case "too_small":
      return `expected at least ${issue.minimum}${COUNTED[issue.origin] ?? ""}`;
    case "unrecognized_keys":
      return `there is no ${orList(issue.keys.map((key) => JSON.stringify(key)))} here`;
    default:
      return issue.message;
  }
}

const orList = (words: readonly string[]): string =>
  words.length < 2 ? words.join() : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
