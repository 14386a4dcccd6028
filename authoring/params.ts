/**
 * A DAG's params, and what a wait may be ended with: the author's zod schema, and the JSON Schema that goes into the graph.
 * zod itself is not imported: the schema brings its own copy, and a file without one need not load it.
 */
import { canonicalJson } from "../core/canonical.ts";
import { DefinitionError, Terminal } from "../core/errors.ts";
import {
  misfits,
  paramErrors,
  paramErrorsText,
  type Issue,
  type JsonSchema,
  type ParamError,
} from "../core/params.ts";
import { show } from "./show.ts";
import type { AnyParams } from "./types.ts";

export interface Params {
  readonly jsonSchema: JsonSchema;
  /** What bodies and templates may name; null: not known beforehand. */
  readonly names: readonly string[] | null;
  /** The params that a conf comes to; throws with each path and what was expected there. */
  read(conf: AnyParams): AnyParams | Promise<AnyParams>;
}

interface ToJson {
  readonly io: "input" | "output";
  readonly unrepresentable?: "any";
  readonly override?: (seen: {
    readonly zodSchema: unknown;
    readonly jsonSchema: Record<string, unknown>;
    readonly path: readonly PropertyKey[];
  }) => void;
}
type Parsed =
  | { readonly success: true; readonly data: AnyParams }
  | { readonly success: false; readonly error: { readonly issues: readonly Issue[] } };
/** What we use of a zod object. */
interface Schema {
  toJSONSchema(options: ToJson): unknown;
  safeParse(value: unknown): Parsed;
  safeParseAsync(value: unknown): Promise<Parsed>;
}

/** What a wait may be ended with. */
export interface Payload {
  readonly jsonSchema: JsonSchema;
  /** What does not fit; empty: it fits. Consumers get it as it was sent, not what the schema makes of it. */
  misfits(value: unknown): readonly ParamError[] | Promise<readonly ParamError[]>;
}

export function payloadOf(given: unknown): Payload {
  if (!isSchema(given)) {
    throw new DefinitionError(
      "bad_payload",
      `${show(given)}; expected a zod schema such as z.object({ by: z.string() }), of zod 4.2 or later and not zod/mini`,
    );
  }
  const jsonSchema = inputSchema(given, PAYLOAD);
  return {
    jsonSchema,
    misfits: (value) =>
      parse(given, value, (parsed) => misfits(jsonSchema, value, parsed.success ? [] : parsed.error.issues)),
  };
}

/** `isScheduled`: its runs by schedule have no conf, so every param needs a default. */
export function paramsOf(given: unknown, isScheduled: boolean): Params {
  if (!isSchema(given)) {
    throw new DefinitionError(
      "bad_params",
      `${show(given)}; expected a zod object such as z.object({ region: z.string() }), of zod 4.2 or later and not zod/mini`,
    );
  }
  const jsonSchema = objectSchema(given);
  let names: readonly string[] | null | undefined;
  const params: Params = {
    jsonSchema,
    get names() {
      return (names ??= outputNames(given));
    },
    read: (conf) =>
      parse(given, conf, (parsed) => {
        const errors = misfits(jsonSchema, conf, parsed.success ? [] : parsed.error.issues);
        if (parsed.success && errors.length === 0) return parsed.data;
        throw unfit(errors);
      }),
  };
  if (isScheduled) checkDefaults(given, params);
  return params;
}

function isSchema(value: unknown): value is Schema {
  if (typeof value !== "object" || value === null) return false;
  const { toJSONSchema, safeParse, safeParseAsync } = value as Partial<Schema>;
  return [toJSONSchema, safeParse, safeParseAsync].every((method) => typeof method === "function");
}

function unfit(errors: ReturnType<typeof misfits>): Terminal {
  return new Terminal(
    "bad_params",
    `the run's conf does not fit the DAG's params: ${paramErrorsText(errors)}`,
    { details: { errors } },
  );
}

/** At once where the schema can; a transform or check of the author may be async. */
function parse<T>(schema: Schema, conf: unknown, then: (parsed: Parsed) => T): T | Promise<T> {
  let parsed: Parsed;
  try {
    parsed = schema.safeParse(conf);
  } catch (error) {
    if ((error as { constructor?: { name?: unknown } }).constructor?.name !== "$ZodAsyncError") throw error;
    return schema.safeParseAsync(conf).then(then);
  }
  return then(parsed);
}

/** What a schema is about, for messages. */
interface About {
  readonly code: string;
  readonly all: string;
  readonly part: string;
}
const PARAMS: About = { code: "bad_params", all: "params come", part: "param" };
const PAYLOAD: About = { code: "bad_payload", all: "it comes", part: "part" };

function objectSchema(schema: Schema): JsonSchema {
  const json = inputSchema(schema, PARAMS);
  if (json["type"] === "object") return json;
  throw new DefinitionError(
    "bad_params",
    `a schema of ${show(json["type"] ?? "something else")}; expected a zod object such as z.object({ region: z.string() })`,
  );
}

function inputSchema(schema: Schema, { code, all, part }: About): JsonSchema {
  let text: string;
  try {
    const asJson = () => canonicalJson(closed(schema.toJSONSchema({ io: "input", override: asGiven })));
    text = asJson();
    if (asJson() !== text) {
      throw new TypeError("a default differs each time it is asked for; give a value that stays the same");
    }
  } catch (error) {
    throw new DefinitionError(
      code,
      `${culprit(schema, part)}${(error as Error).message}; ${all} as JSON: expected what JSON can hold, such as z.iso.date() for z.date()`,
      { cause: error },
    );
  }
  return unwrapped(JSON.parse(text) as JsonSchema);
}

/** A part of a zod schema, and each of its checks. */
interface Rule {
  readonly check?: string;
  readonly pattern?: { readonly flags: string };
  readonly tx?: (value: unknown) => unknown;
}

/** Words about a text or a number that a conf must obey as it comes. */
const TEXT_RULES = ["pattern", "format", "allOf", "contentEncoding"];
const RULES = [
  ...TEXT_RULES,
  "minLength",
  "maxLength",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minItems",
  "maxItems",
];

/**
 * A JSON Schema is about what comes in. Rules behind a change of it (`.trim()`, `.toUpperCase()`) are about something
 * else, and a pattern without its flags says something else: these are left to the body's own process.
 */
function asGiven({ zodSchema, jsonSchema }: Parameters<NonNullable<ToJson["override"]>>[0]): void {
  const { def } = (zodSchema as { _zod: { def: Rule & { checks?: readonly { _zod: { def: Rule } }[] } } })
    ._zod;
  const rules = (def.checks ?? []).map((check) => check._zod.def);
  const change = rules.findIndex(({ check }) => check === "overwrite");
  const drop = (words: readonly string[]) => words.forEach((word) => delete jsonSchema[word]);
  if (change !== -1 && rules.slice(change).some(({ check }) => check !== "overwrite")) {
    const { minLength } = jsonSchema;
    drop(RULES);
    // Whatever is done to it, an empty text stays one.
    if (Number(minLength) > 0 && rules.every(({ tx }) => tx === undefined || tx("") === "")) {
      jsonSchema["minLength"] = 1;
    }
  } else if ([def, ...rules].some(({ pattern }) => /[imsuv]/.test(pattern?.flags ?? ""))) drop(TEXT_RULES);
}

/** A schema with an id of its own stands among `$defs`, and the whole only points at it. */
function unwrapped(json: JsonSchema): JsonSchema {
  const { $ref, ...rest } = json;
  const name = typeof $ref === "string" ? /^#\/\$defs\/([^/]+)$/.exec($ref)?.[1] : undefined;
  const definitions = (rest["$defs"] ?? {}) as Readonly<Record<string, JsonSchema>>;
  return name === undefined || !Object.hasOwn(definitions, name) ? json : { ...rest, ...definitions[name] };
}

/** `param "window.since": ` when one part of the schema is at fault: the innermost that has no JSON Schema. */
function culprit(schema: Schema, part: string): string {
  let found: readonly PropertyKey[] | undefined;
  try {
    schema.toJSONSchema({
      io: "input",
      unrepresentable: "any",
      // Parts are seen before what is around them.
      override: ({ zodSchema, path }) => {
        if (found !== undefined || !isSchema(zodSchema)) return;
        try {
          zodSchema.toJSONSchema({ io: "input" });
        } catch {
          found = path;
        }
      },
    });
  } catch {
    return "";
  }
  const text = nameOf(found ?? []);
  return text === "" ? "" : `${part} "${text}": `;
}

/** `["properties", "days", "items"]`, a path within a JSON Schema, as `days[]`. */
function nameOf(path: readonly PropertyKey[]): string {
  let name = "";
  for (let i = 0; i < path.length; i++) {
    if (path[i] === "items") name += "[]";
    else if (path[i] === "properties" && i + 1 < path.length) {
      name += `${name === "" ? "" : "."}${String(path[(i += 1)])}`;
    }
  }
  return name;
}

/** A stored graph does not keep the order of keys, and a form should: it stands beside them. */
const ORDER = "x-order";
/** Words whose values are schemas by name. */
const MAPS = ["properties", "patternProperties", "$defs"];
/** Words with values of the author, and with parts that hold together only: what one of them lacks, another has. */
const KEPT = ["default", "const", "enum", "examples", "required", "allOf"];

/**
 * Plain values (zod attaches more) with the order of properties. Keys that a plain z.object does not have are errors,
 * not dropped; a z.looseObject says otherwise in its schema.
 */
function closed(at: unknown): unknown {
  if (Array.isArray(at)) return at.map(closed);
  if (typeof at !== "object" || at === null) return at;
  const schema = at as JsonSchema;
  const entries = Object.entries(schema).map(([word, value]): [string, unknown] => {
    if (KEPT.includes(word)) return [word, value];
    if (!MAPS.includes(word)) return [word, closed(value)];
    const named = Object.entries(value as JsonSchema);
    return [word, Object.fromEntries(named.map(([name, inner]) => [name, closed(inner)]))];
  });
  const { type, properties } = schema;
  if (type === "object" && typeof properties === "object" && properties !== null) {
    entries.push([ORDER, Object.keys(properties)]);
    if (!("additionalProperties" in schema)) entries.push(["additionalProperties", false]);
  }
  return Object.fromEntries(entries);
}

/** What the schema gives out: with a transform over the whole, nobody knows beforehand. */
function outputNames(schema: Schema): readonly string[] | null {
  try {
    const json = schema.toJSONSchema({ io: "output", unrepresentable: "any" }) as JsonSchema;
    const { properties, additionalProperties } = json;
    const isOpen = typeof additionalProperties === "object" || additionalProperties === true;
    return json["type"] === "object" && typeof properties === "object" && properties !== null && !isOpen
      ? Object.keys(properties)
      : null;
  } catch {
    return null;
  }
}

function checkDefaults(schema: Schema, { jsonSchema }: Params): void {
  const required = (jsonSchema["required"] ?? []) as readonly string[];
  if (required.length > 0) {
    throw new DefinitionError(
      "params_without_default",
      `${required.join(", ")}: required, without a default, in a DAG with a schedule, whose runs are given none; add .default(…) or .optional()`,
    );
  }
  parseIfSync(schema, (parsed) => {
    if (parsed.success) return;
    throw new DefinitionError(
      "params_without_default",
      `its defaults do not fit: ${paramErrorsText(paramErrors(jsonSchema, {}, parsed.error.issues))}; runs by schedule have them`,
    );
  });
}

/** What cannot be read at once, or throws, shows when a run reads it. */
function parseIfSync(schema: Schema, then: (parsed: Parsed) => void): void {
  let parsed: Parsed;
  try {
    parsed = schema.safeParse({});
  } catch {
    return;
  }
  then(parsed);
}
