import { z } from "zod";
import { misfits, type Issue, type JsonSchema, type ParamError } from "../core/params.ts";

type Check = (value: unknown) => readonly Issue[];

/** Schemas never change once loaded; with the last holder of one its check goes too. */
const checks = new WeakMap<JsonSchema, Check>();

/** What does not fit in a run's conf, by the JSON Schema of a DAG's params; empty: it fits. */
export function checkParams(schema: JsonSchema, conf: unknown): readonly ParamError[] {
  let check = checks.get(schema);
  if (check === undefined) checks.set(schema, (check = checkOf(schema)));
  return misfits(schema, conf, check(conf));
}

function checkOf(schema: JsonSchema): Check {
  let made: z.ZodType;
  try {
    made = z.fromJSONSchema(withoutFormats(schema) as Parameters<typeof z.fromJSONSchema>[0]);
  } catch {
    // A word of JSON Schema that zod writes, or its author added, and does not read: the run itself checks all of it.
    return () => [];
  }
  return (value) => {
    const { error } = made.safeParse(value);
    return error === undefined ? [] : (error.issues as readonly Issue[]);
  };
}

/** zod writes a format's exact pattern beside it; the format alone would be read by its usual rules, not the author's. */
function withoutFormats(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutFormats);
  if (typeof schema !== "object" || schema === null) return schema;
  const entries = Object.entries(schema).map(([key, value]) => [key, withoutFormats(value)]);
  const isExact = "type" in schema && schema.type === "string" && "pattern" in schema;
  return Object.fromEntries(isExact ? entries.filter(([key]) => key !== "format") : entries);
}
