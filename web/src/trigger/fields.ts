/** JSON Schema, of a DAG's params or of what a wait is ended with, as fields of a form. What a field cannot show is a field for JSON. Pure. */
import { type JsonSchema, propertyNames } from "../../../core/params.ts";

type FieldKind = "text" | "number" | "boolean" | "choice" | "date" | "date-time" | "json";

export interface Field {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly kind: FieldKind;
  /** It cannot go without it, and the schema has no default. */
  readonly needed: boolean;
  readonly nullable: boolean;
  /** undefined: none. */
  readonly initial: unknown;
  /** Of kind `choice`. */
  readonly choices: readonly unknown[];
  /** The schema without `null`, references followed. */
  readonly rules: JsonSchema;
}

/** null: the schema is not of an object with known properties, so that JSON is all that can be offered. */
export function fieldsOf(schema: JsonSchema): Field[] | null {
  const root = follow(schema, schema);
  const properties = root["properties"];
  if (!isObject(properties) || Object.keys(properties).length === 0) return null;
  const required = Array.isArray(root["required"]) ? root["required"] : [];
  return propertyNames(root).map((name) =>
    fieldOf(name, follow(schema, properties[name]), required.includes(name), schema),
  );
}

/** What a schema of anything else asks for, as one field; null: JSON is all that can be offered. */
export function wholeFieldOf(schema: JsonSchema): Field | null {
  const field = fieldOf("payload", follow(schema, schema), true, schema);
  return field.kind === "json" ? null : field;
}

function fieldOf(name: string, own: JsonSchema, required: boolean, root: JsonSchema): Field {
  const { rules, nullable } = withoutNull(own, root);
  const choices = choicesOf(rules);
  const initial = own["default"] ?? rules["default"];
  const text = (key: string): string => {
    const found = own[key] ?? rules[key];
    return typeof found === "string" ? found : "";
  };
  return {
    name,
    title: text("title") === "" ? name : text("title"),
    description: text("description"),
    kind: kindOf(rules, choices),
    needed: required && initial === undefined,
    nullable,
    initial: initial === undefined && choices.length === 1 && required ? choices[0] : initial,
    choices,
    rules,
  };
}

/** `["string", "null"]`, or a union of which one branch is null. */
function withoutNull(own: JsonSchema, root: JsonSchema): { rules: JsonSchema; nullable: boolean } {
  const types = own["type"];
  if (Array.isArray(types) && types.includes("null")) {
    const rest = types.filter((type) => type !== "null");
    return { rules: { ...own, type: rest.length === 1 ? rest[0] : rest }, nullable: true };
  }
  for (const key of ["anyOf", "oneOf"]) {
    const branches = own[key];
    if (!Array.isArray(branches)) continue;
    const rest = branches.map((one) => follow(root, one)).filter((one) => one["type"] !== "null");
    if (rest.length === branches.length) continue;
    const { [key]: _union, ...outer } = own;
    const rules = rest.length === 1 ? { ...outer, ...rest[0] } : { ...outer, [key]: rest };
    return { rules, nullable: true };
  }
  return { rules: own, nullable: false };
}

function choicesOf(rules: JsonSchema): readonly unknown[] {
  if (Array.isArray(rules["enum"])) return rules["enum"];
  if ("const" in rules) return [rules["const"]];
  const branches = rules["anyOf"] ?? rules["oneOf"];
  if (Array.isArray(branches) && branches.every((one) => isObject(one) && "const" in one))
    return branches.map((one: JsonSchema) => one["const"]);
  return [];
}

const KINDS: Readonly<Record<string, FieldKind>> = {
  string: "text",
  number: "number",
  integer: "number",
  boolean: "boolean",
};

function kindOf(rules: JsonSchema, choices: readonly unknown[]): FieldKind {
  if (choices.length > 0) return "choice";
  const { type, format } = rules;
  if (type === "string" && (format === "date" || format === "date-time")) return format;
  return (typeof type === "string" ? KINDS[type] : undefined) ?? "json";
}

/** Within the schema alone: `#/$defs/x`. */
function follow(root: JsonSchema, at: unknown, depth = 0): JsonSchema {
  if (!isObject(at)) return {};
  const ref = at["$ref"];
  if (typeof ref !== "string" || !ref.startsWith("#") || depth > 8) return at;
  const found = ref
    .split("/")
    .slice(1)
    .reduce<unknown>((part, key) => (isObject(part) ? part[key] : undefined), root);
  const { $ref: _ref, ...beside } = at;
  return { ...follow(root, found, depth + 1), ...beside };
}

function isObject(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
