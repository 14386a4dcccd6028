/** What was typed into a form's fields, as values or as what is wrong with it; and back. Pure. */
import { formatInstant, parseTyped } from "../time/format.ts";
import { whereIn } from "./conf.ts";
import type { Field } from "./fields.ts";

/** A choice is kept as its JSON, a boolean as `true` or `false`. */
export interface Typed {
  readonly text: string;
  readonly isNull: boolean;
}

export type Value =
  | { readonly kind: "absent" }
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "wrong"; readonly message: string };

const wrong = (message: string): Value => ({ kind: "wrong", message });
const value = (of: unknown): Value => ({ kind: "value", value: of });

export function readField(field: Field, { text, isNull }: Typed, zone: string): Value {
  if (isNull) return value(null);
  if (text.trim() === "" && field.kind !== "text") return empty(field);
  switch (field.kind) {
    case "text":
      // Emptied on purpose, if something stood there.
      if (text === "")
        return typeof field.initial === "string" && field.initial !== "" ? value("") : empty(field);
      return readText(field, text);
    case "number":
      return readNumber(field, text.trim());
    case "boolean":
      return value(text === "true");
    case "choice":
      return value(JSON.parse(text));
    case "date":
      return isDay(text.trim()) ? value(text.trim()) : wrong("Not a day: write it like 2026-05-09");
    case "date-time":
      return readInstant(text, zone);
    case "json":
      return readJson(field, text);
  }
}

function empty(field: Field): Value {
  return field.needed ? wrong("Needed: there is no default for it") : { kind: "absent" };
}

const numberIn = (field: Field, key: string): number | null => {
  const found = field.rules[key];
  return typeof found === "number" ? found : null;
};

function readText(field: Field, text: string): Value {
  const [least, most] = [numberIn(field, "minLength"), numberIn(field, "maxLength")];
  const { length } = text;
  if (least !== null && length < least)
    return wrong(`Too short: at least ${least} characters, it has ${length}`);
  if (most !== null && length > most) return wrong(`Too long: at most ${most} characters, it has ${length}`);
  const { pattern, format } = field.rules;
  // The pattern of a named format says nothing to people; the server checks it.
  if (typeof pattern === "string" && format === undefined && !matches(pattern, text))
    return wrong(`Does not match ${pattern}`);
  return value(text);
}

function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, "u").test(text);
  } catch {
    // A pattern of another dialect: the server knows.
    return true;
  }
}

function readNumber(field: Field, text: string): Value {
  const number = Number(text);
  if (!/^[+-]?(\d|\.\d)/.test(text) || !Number.isFinite(number)) return wrong(`Not a number: ${text}`);
  if (field.rules["type"] === "integer" && !Number.isInteger(number)) return wrong("Not a whole number");
  const [least, most] = [numberIn(field, "minimum"), numberIn(field, "maximum")];
  const [above, below] = [numberIn(field, "exclusiveMinimum"), numberIn(field, "exclusiveMaximum")];
  const step = numberIn(field, "multipleOf");
  if (least !== null && number < least) return wrong(`Too small: at least ${least}`);
  if (most !== null && number > most) return wrong(`Too large: at most ${most}`);
  if (above !== null && number <= above) return wrong(`Too small: above ${above}`);
  if (below !== null && number >= below) return wrong(`Too large: below ${below}`);
  if (step !== null && Math.abs(number / step - Math.round(number / step)) > 1e-9)
    return wrong(`Not a multiple of ${step}`);
  return value(number);
}

function isDay(text: string): boolean {
  const at = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text);
}

function readInstant(text: string, zone: string): Value {
  const read = parseTyped(text, zone);
  if (read.kind === "gap") return wrong(`The clocks of ${zone} leave this time out; pick another`);
  if (read.kind === "unreadable") return wrong("Not a time: write it like 2026-05-09 14:30");
  return value(new Date(read.at).toISOString());
}

function readJson(field: Field, text: string): Value {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch (error) {
    return wrong(`Not JSON: ${whereIn(text, error instanceof Error ? error.message : String(error))}`);
  }
  const { type } = field.rules;
  if (type === "array" && !Array.isArray(read)) return wrong('Expected a list, such as ["a", "b"]');
  if (type === "object" && (typeof read !== "object" || read === null || Array.isArray(read)))
    return wrong('Expected an object, such as {"a": 1}');
  return value(read);
}

/** What a field shows of a value; the inverse of reading. Of a value that does not fit, its JSON. */
export function typedOf(field: Field, given: unknown, zone: string): Typed {
  if (given === undefined) return { text: "", isNull: false };
  if (given === null && field.nullable) return { text: "", isNull: true };
  return { text: textOf(field, given, zone), isNull: false };
}

function textOf(field: Field, given: unknown, zone: string): string {
  if (field.kind === "json") return JSON.stringify(given);
  if (field.kind === "choice") {
    const json = JSON.stringify(given);
    return field.choices.some((choice) => JSON.stringify(choice) === json) ? json : "";
  }
  if (field.kind === "date-time" && typeof given === "string") {
    // In the shown zone, unless that would be another instant: the second of two, or with parts of a second.
    const shown = Number.isNaN(Date.parse(given)) ? given : formatInstant(Date.parse(given), zone);
    const read = parseTyped(shown, zone);
    return read.kind === "instant" && read.at === Date.parse(given) ? shown : given;
  }
  return typeof given === "string" ? given : JSON.stringify(given);
}

export type FormConf =
  | { readonly kind: "conf"; readonly conf: Readonly<Record<string, unknown>> }
  | { readonly kind: "wrong"; readonly messages: ReadonlyMap<string, string> };

export function readForm(
  fields: readonly Field[],
  typed: Readonly<Record<string, Typed>>,
  zone: string,
): FormConf {
  const conf: Record<string, unknown> = {};
  const messages = new Map<string, string>();
  for (const field of fields) {
    const read = readField(field, typed[field.name] ?? { text: "", isNull: false }, zone);
    if (read.kind === "wrong") messages.set(field.name, read.message);
    else if (read.kind === "value") conf[field.name] = read.value;
  }
  return messages.size > 0 ? { kind: "wrong", messages } : { kind: "conf", conf };
}

/** For the JSON side: all that was typed, also what does not fit, as text. */
export function confAsTyped(
  fields: readonly Field[],
  typed: Readonly<Record<string, Typed>>,
  zone: string,
): Record<string, unknown> {
  const conf: Record<string, unknown> = {};
  for (const field of fields) {
    const one = typed[field.name] ?? { text: "", isNull: false };
    const read = readField(field, one, zone);
    if (read.kind === "value") conf[field.name] = read.value;
    else if (read.kind === "wrong" && one.text !== "") conf[field.name] = one.text;
  }
  return conf;
}

/** Errors of the API by the field they are about; what is about none stays in `rest`. */
export function errorsByField(
  fields: readonly Field[],
  errors: readonly { readonly path: string; readonly message: string }[],
): { readonly byField: Map<string, string>; readonly rest: string[] } {
  const byField = new Map<string, string>();
  const rest: string[] = [];
  for (const { path, message } of errors) {
    const field = fields.find(
      ({ name }) => path === name || path.startsWith(`${name}.`) || path.startsWith(`${name}[`),
    );
    if (field === undefined) rest.push(path === "" ? message : `${path}: ${message}`);
    else {
      const inner = path.slice(field.name.length).replace(/^\./, "");
      const text = inner === "" ? message : `${inner}: ${message}`;
      byField.set(field.name, byField.has(field.name) ? `${byField.get(field.name)}; ${text}` : text);
    }
  }
  return { byField, rest };
}
