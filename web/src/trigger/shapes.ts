/** What a form is about: the conf of a run, or what a wait is ended with. Pure. */
import type { JsonSchema, ParamError } from "../../../core/params.ts";
import { isObject, parseConf, parsePayload, type JsonResult } from "./conf.ts";
import { fieldsOf, wholeFieldOf, type Field } from "./fields.ts";

export interface Shape {
  /** null: there is no schema, or none that a form could show. */
  readonly fields: readonly Field[] | null;
  readonly parse: (text: string) => JsonResult;
  /** The values of the fields, by name, of what is sent; null: it has no fields. */
  readonly valuesOf: (sent: unknown) => Readonly<Record<string, unknown>> | null;
  /** The inverse. */
  readonly sentOf: (values: Readonly<Record<string, unknown>>) => unknown;
  /** Where an error of the API is among the fields. */
  readonly pathOf: (path: ParamError["path"]) => string;
}

const AN_OBJECT = {
  valuesOf: (sent: unknown) => (isObject(sent) ? sent : null),
  sentOf: (values: Readonly<Record<string, unknown>>) => values,
  pathOf: (path: string) => path,
};

export const confShape = (params: JsonSchema | null): Shape => ({
  fields: params === null ? null : fieldsOf(params),
  parse: parseConf,
  ...AN_OBJECT,
});

/** A schema of a single value, say a boolean, makes a form of one field. */
export function payloadShape(schema: JsonSchema | null): Shape {
  const fields = schema === null ? null : fieldsOf(schema);
  const whole = schema === null || fields !== null ? null : wholeFieldOf(schema);
  if (whole === null) return { fields, parse: parsePayload, ...AN_OBJECT };
  const { name } = whole;
  return {
    fields: [whole],
    parse: parsePayload,
    valuesOf: (sent) => ({ [name]: sent }),
    sentOf: (values) => values[name] ?? null,
    pathOf: (path) => (path === "" ? name : `${name}.${path}`),
  };
}
