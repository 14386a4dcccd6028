/** Reads parts of a limits file, as YAML or JSON gave them; every mistake is kept, none stops it. */
import { DURATION_RULE, parseDuration } from "./duration.ts";
import { ID_RULE, isId } from "./ids.ts";
import { didYouMean } from "./suggest.ts";

export type Path = readonly (string | number)[];

export interface Mistake {
  /** Keys and places in lists, from the whole file inwards. */
  readonly path: Path;
  /** What was found, what is expected, what to do. */
  readonly message: string;
}

/** Undefined: it is wrong, and that has been said. */
type Read<T> = (value: unknown, path: Path) => T | undefined;

/** `tenants.sales.slots`, `rules[2].tenant`; empty for the whole file. */
export const pathText = (path: Path): string =>
  path.reduce<string>(
    (text, part) =>
      typeof part === "number" ? `${text}[${part}]` : `${text}${text === "" ? "" : "."}${part}`,
    "",
  );

const LONGEST_SHOWN = 60;

/** A value in words, for messages. */
function foundText(value: unknown): string {
  if (value === undefined || value === null) return "nothing";
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === "object") return "a mapping";
  const text = typeof value === "number" ? String(value) : JSON.stringify(value);
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}

const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export class LimitsReader {
  readonly mistakes: Mistake[] = [];

  /** `advice` stands behind a semicolon. */
  wrong(path: Path, value: unknown, expected: string, advice = ""): undefined {
    this.say(
      path,
      `found ${foundText(value)}, expected ${expected}${advice === "" || advice.startsWith(";") ? advice : `; ${advice}`}`,
    );
  }

  say(path: Path, message: string): undefined {
    this.mistakes.push({ path, message });
  }

  /** A mapping with these keys alone; undefined when one that must be there is not, or is wrong. */
  fields<T>(
    value: unknown,
    path: Path,
    readers: { readonly [K in keyof T]-?: Read<Exclude<T[K], undefined>> },
    needed: readonly (keyof T & string)[] = [],
  ): T | undefined {
    const known = Object.keys(readers);
    if (!isMapping(value)) return this.wrong(path, value, `a mapping with ${known.join(", ")}`);
    for (const key of Object.keys(value)) {
      if (known.includes(key)) continue;
      const hint = didYouMean(key, known);
      const text = `there is no such key here${hint === "" ? `; expected ${known.join(", ")}` : hint}`;
      this.say([...path, key], text);
    }
    const read = known.flatMap((key) => {
      const given = Object.hasOwn(value, key) ? value[key] : undefined;
      if (given === undefined) return [];
      const got = readers[key as keyof T](given, [...path, key]);
      return got === undefined ? [] : [[key, got] as const];
    });
    const missing = needed.filter((key) => !Object.hasOwn(value, key) || value[key] === undefined);
    for (const key of missing) this.say(path, `${key} is missing; say it`);
    const got = Object.fromEntries(read);
    return needed.every((key) => Object.hasOwn(got, key)) ? (got as T) : undefined;
  }

  /** A mapping from ids of `what`. What is wrong is left out. */
  record<T>(value: unknown, path: Path, what: string, read: Read<T>): Record<string, T> {
    if (value === undefined) return {};
    if (!isMapping(value)) {
      this.wrong(path, value, `a mapping from ids of ${what}s`, "write {} for none");
      return {};
    }
    return Object.fromEntries(
      Object.entries(value).flatMap(([name, given]) => {
        if (!isId(name))
          this.say([...path, name], `${what} id ${JSON.stringify(name)} is not allowed: expected ${ID_RULE}`);
        const got = read(given, [...path, name]);
        return got === undefined ? [] : [[name, got] as const];
      }),
    );
  }

  /** A list. What is wrong is `undefined` in it, so that places stay true. */
  list<T>(value: unknown, path: Path, what: string, read: Read<T>): (T | undefined)[] {
    if (value === undefined) return [];
    if (!Array.isArray(value)) {
      this.wrong(path, value, `a list of ${what}`, "write [] for none");
      return [];
    }
    return value.map((item: unknown, i) => read(item, [...path, i]));
  }

  whole(least: number, most: number): Read<number> {
    return (value, path) =>
      typeof value === "number" && Number.isSafeInteger(value) && value >= least && value <= most
        ? value
        : this.wrong(path, value, `a whole number from ${least} to ${most}`);
  }

  /** Not below `least`, which itself may be excluded. */
  number(least: number, isExcluded: boolean): Read<number> {
    return (value, path) =>
      typeof value === "number" && Number.isFinite(value) && (isExcluded ? value > least : value >= least)
        ? value
        : this.wrong(path, value, isExcluded ? `a number above ${least}` : `a number from ${least} on`);
  }

  text: Read<string> = (value, path) => {
    if (typeof value === "string" && value !== "" && !value.includes("\0")) return value;
    const quote = typeof value === "number" || typeof value === "boolean" ? "put it in quotes" : "";
    return this.wrong(path, value, "a text", quote);
  };

  id(what: string): Read<string> {
    return (value, path) =>
      typeof value === "string" && isId(value)
        ? value
        : this.wrong(path, value, `the id of a ${what}: ${ID_RULE}`);
  }

  oneOf<T extends string>(names: readonly T[]): Read<T> {
    return (value, path) => {
      const name = names.find((one) => one === value);
      if (name !== undefined) return name;
      const hint = typeof value === "string" ? didYouMean(value, names) : "";
      return this.wrong(path, value, `one of ${names.join(", ")}`, hint);
    };
  }

  /** Milliseconds, above 0. */
  duration: Read<number> = (value, path) => {
    const ms = parseDuration(value);
    return ms !== undefined && ms > 0 ? ms : this.wrong(path, value, `${DURATION_RULE}, above 0`);
  };

  /** A name that must be among these. */
  known(path: Path, what: string, name: string, names: readonly string[]): boolean {
    if (names.includes(name)) return true;
    this.say(
      path,
      `there is no ${what} ${JSON.stringify(name)} in this file${didYouMean(name, names) || `; add it under ${what}s`}`,
    );
    return false;
  }
}
