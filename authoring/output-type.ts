declare const WHY: unique symbol;

/**
 * Where a body returns what JSON cannot hold: the try fails there, with the path of the value, and no consumer ever sees it.
 * `Advice` says what to return instead.
 */
export interface NotJson<out What extends string, out Advice extends string> {
  readonly [WHY]: `${What}; ${Advice}`;
}

/**
 * What consumers get of a body's return value: awaited, null for nothing, and otherwise what JSON keeps of it. A
 * `Date`, a `Map` or a bigint inside becomes `NotJson`, on which nothing works.
 *
 * @example
 * type A = Output<Promise<{ day: string; note?: string }>>; // { day: string; note?: string }
 * type B = Output<{ at: Date }>; // { at: NotJson<"a Date", "return value.toISOString()"> }
 */
export type Output<R> = NothingIsNull<Awaited<R>>;

type NothingIsNull<T> = unknown extends T ? T : T extends void | undefined ? null : Kept<T>;

/** A type that JSON keeps as it is stays itself, with its name. */
type Kept<T> = T extends Json<T> ? T : Json<T>;

type Json<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null
    ? T
    : T extends bigint
      ? NotJson<"a bigint", "return String(value) or Number(value)">
      : T extends symbol
        ? NotJson<"a symbol", "return a text">
        : T extends undefined | void
          ? NotJson<"undefined", "return null, or leave it out">
          : T extends object
            ? JsonObject<T>
            : T;

type JsonObject<T extends object> = T extends (...args: never) => unknown
  ? NotJson<"a function", "leave it out">
  : T extends readonly unknown[]
    ? JsonList<T>
    : T extends Date
      ? NotJson<"a Date", "return value.toISOString()">
      : T extends ReadonlyMap<unknown, unknown>
        ? NotJson<"a Map", "return Object.fromEntries(value)">
        : T extends ReadonlySet<unknown>
          ? NotJson<"a Set", "return [...value]">
          : T extends ArrayBuffer | ArrayBufferView
            ? NotJson<"bytes", 'return Buffer.from(value).toString("base64")'>
            : T extends RegExp | Error | PromiseLike<unknown> | WeakKeyed
              ? NotJson<"an object of a class", "return a plain object of what is needed">
              : Plain<T>;

/** As array types, which the compiler unfolds only when asked: else a type that holds lists of itself has no end. */
type JsonList<T extends readonly unknown[]> = number extends T["length"]
  ? T extends unknown[]
    ? Json<T[number]>[]
    : readonly Json<T[number]>[]
  : { [K in keyof T]: Json<T[K]> };

type WeakKeyed = WeakMap<never, unknown> | WeakSet<never>;

/** A key that may be undefined may be missing: JSON leaves it out. */
type Plain<T> = Flat<
  { [K in keyof T as undefined extends T[K] ? never : K]: Json<T[K]> } & {
    [K in keyof T as undefined extends T[K] ? K : never]?: Json<Exclude<T[K], undefined>>;
  }
>;
type Flat<T> = { [K in keyof T]: T[K] };
