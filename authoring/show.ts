/** A value as messages name it: short, one line, and never throwing. */
export function show(value: unknown): string {
  try {
    if (typeof value === "string")
      return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);
    if (typeof value === "bigint") return `${value}n`;
    if (Array.isArray(value)) return `a list of ${value.length}`;
    if (typeof value === "function") return value.name === "" ? "a function" : `the function ${value.name}`;
    if (typeof value === "object" && value !== null) return `an object of type ${typeName(value)}`;
    return String(value);
  } catch {
    return `an unreadable ${typeof value}`;
  }
}

/** What should have been the function that comes last; where options stand in its place, it was forgotten. */
export function showLast(what: string, value: unknown): string {
  const isOptions = Object.prototype.toString.call(value) === "[object Object]";
  return value === undefined || isOptions ? `its ${what} is missing` : `its ${what} is ${show(value)}`;
}

/** Name of the class of an object: `Map`, `Date`, `Object`. */
export function typeName(value: object): string {
  const name: unknown = (value as { constructor?: { name?: unknown } }).constructor?.name;
  return typeof name === "string" && name !== "" ? name : Object.prototype.toString.call(value).slice(8, -1);
}
