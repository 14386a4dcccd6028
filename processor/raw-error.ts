import type { RawError } from "./protocol.ts";

/** Plain data of anything that was thrown, however odd. */
export function rawError(thrown: unknown): RawError {
  try {
    if (typeof thrown !== "object" || thrown === null) {
      return { code: "thrown", message: `threw ${typeof thrown} ${String(thrown)} instead of an error` };
    }
    const { name, code, message, stack } = thrown as Partial<Error> & { code?: unknown };
    return {
      code: text(code) ?? text(name) ?? "Error",
      message: text(message) ?? Object.prototype.toString.call(thrown),
      ...(typeof stack === "string" ? { stack } : {}),
    };
  } catch {
    return { code: "thrown", message: "threw a value that cannot be read" };
  }
}

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;
