/** JSON that a person typed, as a value or as what is wrong with it. Pure. */
export type JsonResult =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "wrong"; readonly message: string };

/** A run's conf; an empty text is an empty one. */
export function parseConf(text: string): JsonResult {
  const read = text.trim() === "" ? { kind: "value" as const, value: {} } : parseJson(text);
  if (read.kind === "wrong" || isObject(read.value)) return read;
  return { kind: "wrong", message: 'Conf is an object, such as {"region": "north"}' };
}

/** What a wait is ended with; an empty text is null. */
export const parsePayload = (text: string): JsonResult =>
  text.trim() === "" ? { kind: "value", value: null } : parseJson(text);

function parseJson(text: string): JsonResult {
  try {
    return { kind: "value", value: JSON.parse(text) as unknown };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { kind: "wrong", message: `Not JSON: ${whereIn(text, message)}` };
  }
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Engines name a position, some a line; people want the line. */
export function whereIn(text: string, message: string): string {
  const position = /at position (\d+)/.exec(message)?.[1];
  if (position === undefined || message.includes("line ")) return message;
  const line = text.slice(0, Number(position)).split("\n").length;
  return `${message} (line ${line})`;
}
