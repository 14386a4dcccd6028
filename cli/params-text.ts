/** A DAG's params as a table of `dags details`: what may be passed, and what happens when it is not. */
import { type JsonSchema, propertyNames } from "../core/params.ts";
import type { Table } from "./output.ts";

interface Param {
  readonly name: string;
  readonly type: string;
  /** As JSON; null: none. */
  readonly default: string | null;
  readonly required: boolean;
  readonly what: string;
}

export const PARAMS: Table<Param> = {
  columns: {
    param: (one) => one.name,
    type: (one) => one.type,
    default: (one) => one.default,
    required: (one) => (one.required ? "yes" : "no"),
    what: (one) => one.what,
  },
  shown: ["param", "type", "default", "required", "what"],
  id: (one) => one.name,
};

export function paramsOf(schema: JsonSchema): Param[] {
  const properties = asSchema(schema["properties"]);
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  return propertyNames(schema).map((name) => {
    const own = asSchema(properties[name]);
    const at = follow(schema, own);
    const fallback = own["default"] ?? at["default"];
    const words = own["description"] ?? at["description"] ?? own["title"] ?? at["title"];
    return {
      name,
      type: typeOf(schema, own),
      default: fallback === undefined ? null : JSON.stringify(fallback),
      required: required.includes(name) && fallback === undefined,
      what: typeof words === "string" ? words : "",
    };
  });
}

/** `"eu" | "us"`, `integer 1 to 100`, `date`, `list of text`; `JSON` for what a few words do not tell. */
function typeOf(root: JsonSchema, schema: unknown, depth = 0): string {
  const at = follow(root, asSchema(schema));
  if (depth > DEEPEST) return "JSON";
  const choices = Array.isArray(at["enum"]) ? at["enum"] : "const" in at ? [at["const"]] : null;
  if (choices !== null) return choices.map((choice) => JSON.stringify(choice)).join(" | ");
  const branches = at["anyOf"] ?? at["oneOf"];
  if (Array.isArray(branches)) return united(branches.map((one) => typeOf(root, one, depth + 1)));
  const { type } = at;
  if (Array.isArray(type)) return united(type.map((one) => typeOf(root, { ...at, type: one }, depth + 1)));
  if (type === "array") {
    const item = typeOf(root, at["items"], depth + 1);
    return `list of ${item.includes(" | ") ? `(${item})` : item}`;
  }
  if (type === "string") return typeof at["format"] === "string" ? at["format"] : "text";
  if (type === "number" || type === "integer") return `${type}${rangeOf(at)}`;
  return type === "boolean" || type === "null" || type === "object" ? type : "JSON";
}

/** A schema may hold itself. */
const DEEPEST = 4;

const united = (types: readonly string[]): string => [...new Set(types)].join(" | ");

function rangeOf(at: JsonSchema): string {
  const bound = (name: string): number | null => {
    const value = at[name];
    // What every safe integer obeys says nothing.
    return typeof value === "number" && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : null;
  };
  const [least, most] = [bound("minimum"), bound("maximum")];
  const [above, below] = [bound("exclusiveMinimum"), bound("exclusiveMaximum")];
  const from = least !== null ? ` from ${least}` : above !== null ? ` above ${above}` : "";
  const to = most !== null ? ` to ${most}` : below !== null ? ` below ${below}` : "";
  return from + to;
}

function follow(root: JsonSchema, at: JsonSchema): JsonSchema {
  const name = typeof at["$ref"] === "string" ? /^#\/\$defs\/([^/]+)$/.exec(at["$ref"])?.[1] : undefined;
  return name === undefined ? at : { ...asSchema(asSchema(root["$defs"])[name]), ...at };
}

const asSchema = (value: unknown): JsonSchema =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonSchema) : {};
