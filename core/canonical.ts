/**
 * JSON with sorted keys and no spaces: equal values give equal bytes, so that a hash names a value. Keys are sorted
 * by code unit, the same on every machine. A key without a value is left out; what JSON cannot hold is refused.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value === "object" && value !== null) return canonicalObject(value as Record<string, unknown>);
  const isJson =
    value === null ||
    typeof value === "string" ||
    typeof value === "boolean" ||
    (typeof value === "number" && Number.isFinite(value));
  if (!isJson)
    throw new TypeError(`no canonical JSON of ${typeof value === "number" ? `${value}` : typeof value}`);
  return JSON.stringify(value);
}

function canonicalObject(value: Record<string, unknown>): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    throw new TypeError(`no canonical JSON of a ${value.constructor.name}`);
  }
  const members = Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`);
  return `{${members.join(",")}}`;
}
