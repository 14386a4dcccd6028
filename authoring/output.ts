/** What a body returns is stored as JSON: this check refuses whatever JSON, or the store, would change or lose. */
import type { BodyError } from "../core/body.ts";
import { typeName } from "./show.ts";

/**
 * What a thread of 1 GiB can make into text, and a consumer's thread read, without running out of memory. More than that
 * belongs in a table or a bucket of the author's.
 */
export const OUTPUT_LIMIT_BYTES = 100 * 1024 * 1024;
/** As it is now: a body may replace it for all that runs beside it. */
const toText = JSON.stringify.bind(JSON);
/** Deeper values are refused before they exhaust the stack. */
const DEPTH_LIMIT = 500;

export type CheckedOutput =
  /** `json` is the text; parsed, it shares nothing with what was returned. */
  | { readonly ok: true; readonly json: string; readonly bytes: number }
  | { readonly ok: false; readonly error: BodyError };

/** The output as it will be stored; nothing returned is null. */
export function toOutput(
  value: unknown,
  limitBytes: number = OUTPUT_LIMIT_BYTES,
  name = "output",
): CheckedOutput {
  if (value === undefined) return { ok: true, json: "null", bytes: 4 };
  try {
    const walk: Walk = { open: new Set(), leftBytes: limitBytes };
    const problem = problemIn(value, name, walk);
    if (problem !== undefined) return refused("output_not_json", problem);
    // Not looked at to its end, which may never come.
    if (walk.leftBytes < 0) return tooLarge(`at least ${sizeText(limitBytes - walk.leftBytes)}`, limitBytes);
    const json = toText(value);
    const bytes = Buffer.byteLength(json);
    if (bytes > limitBytes) return tooLarge(sizeText(bytes), limitBytes);
    return { ok: true, json, bytes };
  } catch (error) {
    // Of V8, for a text that no string can hold: escapes make JSON longer than what it says.
    if (error instanceof RangeError && error.message === "Invalid string length")
      return tooLarge("longer than a text can be", limitBytes);
    return refused(
      "output_not_json",
      `output cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

interface Walk {
  /** The objects around the one looked at. */
  readonly open: Set<object>;
  /** Of the limit; what is seen costs no more than its JSON would. Below 0 the rest need not be looked at. */
  leftBytes: number;
}

/** A sentence on the first part that JSON would change, or undefined. */
function problemIn(value: unknown, path: string, walk: Walk): string | undefined {
  walk.leftBytes -= typeof value === "string" ? value.length + 2 : 1;
  if (walk.leftBytes < 0) return undefined;
  switch (typeof value) {
    case "string":
      return UNSTORABLE.test(value)
        ? `${path} is a text with ${unstorable(value)}, which the database cannot hold; remove it, or encode the bytes as base64`
        : undefined;
    case "boolean":
      return undefined;
    case "number":
      return Number.isFinite(value) ? undefined : lost(path, String(value), "return null or a text instead");
    case "bigint":
      return lost(path, "a bigint", "return String(value) or Number(value)");
    case "object":
      return value === null ? undefined : problemInObject(value, path, walk);
    default:
      return lost(path, `of type ${typeof value}`, "leave it out, or return null");
  }
}

function problemInObject(value: object, path: string, walk: Walk): string | undefined {
  if (walk.open.has(value))
    return lost(path, "a circle: it contains itself", "return plain data without back references");
  if (walk.open.size >= DEPTH_LIMIT)
    return `${path.slice(0, 200)}… is nested deeper than ${DEPTH_LIMIT} levels; return flatter data`;
  walk.open.add(value);
  const problem = Array.isArray(value)
    ? problemInList(value, path, walk)
    : problemInRecord(value, path, walk);
  walk.open.delete(value);
  return problem;
}

function problemInList(list: readonly unknown[], path: string, walk: Walk): string | undefined {
  for (let index = 0; index < list.length && walk.leftBytes >= 0; index++) {
    const problem = problemIn(list[index], `${path}[${index}]`, walk);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function problemInRecord(record: object, path: string, walk: Walk): string | undefined {
  if (!isPlain(record))
    return lost(
      path,
      articled(typeName(record)),
      ADVICE[typeName(record)] ?? "return a plain object or list of what is needed",
    );
  for (const [key, item] of Object.entries(record)) {
    // As in JSON, a key without a value is the same as no key.
    if (item === undefined) continue;
    const at = /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
    const problem =
      (UNSTORABLE.test(key) ? problemIn(key, `a key of ${path}`, walk) : undefined) ??
      problemIn(item, at, walk);
    if (problem !== undefined) return problem;
    walk.leftBytes -= key.length + 3;
    if (walk.leftBytes < 0) return undefined;
  }
  return undefined;
}

const ADVICE: Readonly<Record<string, string>> = {
  Date: "return value.toISOString()",
  Map: "return Object.fromEntries(value)",
  Set: "return [...value]",
  Promise: "await it before returning",
  Buffer: 'return value.toString("base64")',
  Uint8Array: 'return Buffer.from(value).toString("base64")',
};

/** `{}`, `Object.create(null)`, and the same of another realm. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return (
    prototype === null ||
    (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, "isPrototypeOf")) ||
    prototype === Object.prototype
  );
}

const articled = (name: string): string => `${/^(?:[AEIO]|U(?!int))/i.test(name) ? "an" : "a"} ${name}`;

const lost = (path: string, what: string, advice: string): string =>
  `${path} is ${what}, which JSON cannot hold; ${advice}`;

/** U+0000 and halves of surrogate pairs: legal in a JavaScript text, refused by Postgres' jsonb. */
const UNSTORABLE = /\0|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;
const unstorable = (text: string): string =>
  text.includes("\0") ? "the character U+0000" : "half of a surrogate pair";

/** A text that the database can hold, for errors and logs: what it cannot becomes U+FFFD. */
export function storableText(text: string): string {
  return UNSTORABLE.test(text) ? text.replaceAll(new RegExp(UNSTORABLE, "g"), "\ufffd") : text;
}

function tooLarge(size: string, limitBytes: number): CheckedOutput {
  return refused(
    "output_too_large",
    `output is ${size}; the limit is ${sizeText(limitBytes)}: write the data to a table or a bucket and return where it is`,
  );
}

function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  const text =
    bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
  return `${text} (${bytes} bytes)`;
}

/** Not retryable: the same body would return the same again. */
function refused(code: string, message: string): CheckedOutput {
  return { ok: false, error: { code, message, retryable: false } };
}
