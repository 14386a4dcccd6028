/** The conf a person typed, as a value or as what is wrong with it. Pure. */
export type ConfResult =
  | { readonly kind: "conf"; readonly conf: Readonly<Record<string, unknown>> }
  | { readonly kind: "wrong"; readonly message: string };

export function parseConf(text: string): ConfResult {
  if (text.trim() === "") return { kind: "conf", conf: {} };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return {
      kind: "wrong",
      message: `Not JSON: ${whereIn(text, error instanceof Error ? error.message : String(error))}`,
    };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { kind: "wrong", message: 'Conf is an object, such as {"region": "north"}' };
  }
  return { kind: "conf", conf: value as Record<string, unknown> };
}

/** Engines name a position, some a line; people want the line. */
export function whereIn(text: string, message: string): string {
  const position = /at position (\d+)/.exec(message)?.[1];
  if (position === undefined || message.includes("line ")) return message;
  const line = text.slice(0, Number(position)).split("\n").length;
  return `${message} (line ${line})`;
}
