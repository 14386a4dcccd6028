/** What is wrong with the params of a run, in words: of JSON Schemas and of zod's issues, without zod. */
import { didYouMean } from "./suggest.ts";

/** A part of the params and what was expected there. `path`: `window.days[0]`; empty: the whole. */
export interface ParamError {
  readonly path: string;
  readonly message: string;
}

export type JsonSchema = Readonly<Record<string, unknown>>;
type Path = readonly PropertyKey[];

/** What we read of an issue of zod. */
export interface Issue {
  readonly code?: string | undefined;
  readonly path: Path;
  readonly message: string;
  readonly format?: string | undefined;
  readonly keys?: readonly string[] | undefined;
  readonly errors?: readonly (readonly Issue[])[] | undefined;
}

/** All of them in one line, for messages. */
export function paramErrorsText(errors: readonly ParamError[]): string {
  return errors.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join("; ");
}

/** `["window", "days", 0]` as `window.days[0]`. */
function pathText(path: Path): string {
  return path
    .map((part, i) => (typeof part === "number" ? `[${part}]` : `${i === 0 ? "" : "."}${String(part)}`))
    .join("");
}

/** Keys that the schema's closed objects do not have: zod would drop them without a word. */
function unknownKeys(schema: JsonSchema, value: unknown): ParamError[] {
  const errors: ParamError[] = [];
  walk(schema, value, []);
  return errors;

  function walk(at: JsonSchema, given: unknown, path: Path): void {
    if (Array.isArray(given)) {
      given.forEach((item, i) => walk(under(schema, at, i), item, [...path, i]));
    } else if (typeof given === "object" && given !== null) {
      const known = Object.keys(propertiesOf(at));
      for (const [key, item] of Object.entries(given)) {
        const isUnknown = at["additionalProperties"] === false && !known.includes(key);
        if (isUnknown) errors.push(unknownKey(at, path, key));
        else walk(under(schema, at, key), item, [...path, key]);
      }
    }
  }
}

/** All that does not fit in `value`: unknown keys, and the issues of zod. */
export function misfits(schema: JsonSchema, value: unknown, issues: readonly Issue[]): ParamError[] {
  const unknown = unknownKeys(schema, value);
  const known = new Set(unknown.map(({ path }) => path));
  return [...unknown, ...paramErrors(schema, value, issues).filter(({ path }) => !known.has(path))];
}

/** Issues of zod about `value`, as our errors; `schema` names what zod's message does not. */
export function paramErrors(schema: JsonSchema, value: unknown, issues: readonly Issue[]): ParamError[] {
  const errors = issues.flatMap((issue) => errorsOf(schema, value, issue));
  // One fault may break two rules of the schema: the first says enough.
  return errors.filter((error, i) => errors.findIndex(({ path }) => path === error.path) === i);
}

function errorsOf(schema: JsonSchema, value: unknown, issue: Issue): ParamError[] {
  const at = schemaAt(schema, issue.path);
  if (issue.code === "unrecognized_keys") {
    return (issue.keys ?? []).map((key) => unknownKey(at, issue.path, key));
  }
  const path = pathText(issue.path);
  if (issue.code === "invalid_union") return unionErrors(schema, value, issue);
  if (issue.code === "invalid_format" && issue.format === "regex" && typeof at["format"] === "string") {
    return [{ path, message: `is no ${FORMATS[at["format"]] ?? at["format"]}` }];
  }
  if (issue.code === "invalid_format" && issue.message.length > LONGEST_MESSAGE) {
    return [{ path, message: "has another form than the DAG expects" }];
  }
  const message = issue.message.replace(/expected int, received (\w+)/, (_text, type: string) => {
    const given = valueAt(value, issue.path);
    return `expected a whole number, received ${typeof given === "number" ? given : type}`;
  });
  const expected = expectationOf(message);
  return [{ path, message: expected === "" ? message : missingOr(value, issue.path, expected, message) }];
}

/** A message that quotes a longer pattern says nothing to people. */
const LONGEST_MESSAGE = 150;

function unionErrors(schema: JsonSchema, value: unknown, issue: Issue): ParamError[] {
  const inner = (of: Issue): Issue => ({ ...of, path: [...issue.path, ...of.path] });
  const branches = issue.errors ?? [];
  if (branches.length === 0) {
    // zod's own discriminated union: no branch has this word.
    const words = discriminators(schemaAt(schema, issue.path.slice(0, -1)), issue.path.at(-1));
    const message = words.length === 0 ? issue.message : missingOr(value, issue.path, words.join(" or "));
    return [{ path: pathText(issue.path), message }];
  }
  // The branch that was meant is the one whose fixed words are there.
  const strangeness = (branch: readonly Issue[]) =>
    branch.filter(({ code, path }) => code === "invalid_value" || path.length === 0).length;
  const least = Math.min(...branches.map(strangeness));
  const nearest = branches.filter((branch) => strangeness(branch) === least);
  if (least === 0 || nearest.length === 1) {
    const shortest = [...nearest].sort((a, b) => a.length - b.length)[0]!;
    return shortest.flatMap((of) => errorsOf(schema, value, inner(of)));
  }
  const firsts = nearest.map((branch) => inner(branch[0]!));
  const { path } = firsts[0]!;
  const alike = firsts.filter((first) => pathText(first.path) === pathText(path));
  const expected = [...new Set(alike.map(({ message }) => expectationOf(message)))].filter(
    (text) => text !== "",
  );
  if (expected.length === 0) return [{ path: pathText(issue.path), message: issue.message }];
  return [{ path: pathText(path), message: missingOr(value, path, expected.join(" or ")) }];
}

function discriminators(at: JsonSchema, key: PropertyKey | undefined): string[] {
  const branches = (at["oneOf"] ?? at["anyOf"] ?? []) as readonly JsonSchema[];
  return branches
    .map((branch) => asSchema(propertiesOf(branch)[String(key)])["const"])
    .filter((word) => word !== undefined)
    .map((word) => JSON.stringify(word));
}

/** Formats whose pattern says nothing to people. */
const FORMATS: Readonly<Record<string, string>> = {
  date: "date such as 2026-05-09",
  time: "time such as 10:30:00",
  "date-time": "instant such as 2026-05-09T10:30:00Z",
  duration: "duration such as P1DT2H",
  email: "e-mail address",
  uri: "URL",
};

function missingOr(value: unknown, path: Path, expected: string, otherwise?: string): string {
  if (valueAt(value, path) === undefined) return `is missing; expected ${expected}`;
  return otherwise ?? `Invalid input: expected ${expected}`;
}

/** What a message of zod says behind "expected"; empty when it says nothing of the kind. */
function expectationOf(message: string): string {
  return /expected (.*?)(?:, received .*)?$/.exec(message)?.[1] ?? "";
}

/** Of an object, as its author wrote them: keys are sorted where the schema is stored, and `x-order` keeps their order. */
export function propertyNames(at: JsonSchema): string[] {
  const names = Object.keys(propertiesOf(at));
  const order: unknown = at["x-order"];
  if (!Array.isArray(order)) return names;
  const place = (name: string): number => (order.includes(name) ? order.indexOf(name) : order.length);
  return names.sort((a, b) => place(a) - place(b));
}

function unknownKey(at: JsonSchema, path: Path, key: string): ParamError {
  const known = propertyNames(at);
  const instead =
    didYouMean(key, known) || (known.length === 0 ? "" : `; expected one of ${known.join(", ")}`);
  return { path: pathText([...path, key]), message: `does not exist${instead}` };
}

function valueAt(value: unknown, path: Path): unknown {
  let at = value;
  for (const key of path) at = (at as Readonly<Record<PropertyKey, unknown>> | null | undefined)?.[key];
  return at;
}

/** The schema of a part; empty when it depends on the value. */
function schemaAt(root: JsonSchema, path: Path): JsonSchema {
  return path.reduce<JsonSchema>((at, key) => under(root, at, key), root);
}

function under(root: JsonSchema, at: JsonSchema, key: PropertyKey): JsonSchema {
  if (typeof key === "number") {
    const listed = at["prefixItems"];
    const own: unknown = Array.isArray(listed) ? listed[key] : undefined;
    return resolved(root, own ?? at["items"]);
  }
  const properties = propertiesOf(at);
  const own = Object.hasOwn(properties, key) ? properties[String(key)] : undefined;
  return resolved(root, own ?? at["additionalProperties"]);
}

function propertiesOf(at: JsonSchema): JsonSchema {
  return asSchema(at["properties"]);
}

/** Follows references within the schema, `#/$defs/x`; zod makes no others. */
function resolved(root: JsonSchema, schema: unknown): JsonSchema {
  const at = asSchema(schema);
  const ref = at["$ref"];
  if (typeof ref !== "string" || !ref.startsWith("#")) return at;
  const parts = ref.split("/").slice(1);
  return asSchema(parts.reduce<unknown>((found, part) => asSchema(found)[part], root));
}

const asSchema = (value: unknown): JsonSchema =>
  typeof value === "object" && value !== null ? (value as JsonSchema) : {};
