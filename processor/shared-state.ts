/**
 * In the child: whether a file changed what all files of the process share. Files imported after it would come out
 * otherwise than alone, with its fault in their name. What `globalThis` gains does not count: packages keep marks there.
 */
const CLASSES = [Object, Array, String, Number, Boolean, BigInt, Symbol, Promise, Date, Error];
const MORE_CLASSES = [Function, RegExp, Map, Set, WeakMap, WeakSet];
/** RegExp itself keeps the last match. */
const HOLDERS: readonly object[] = [
  ...CLASSES,
  ...[...CLASSES, ...MORE_CLASSES].map(({ prototype }) => prototype as object),
  JSON,
  Math,
  Reflect,
];
const NAMES = [
  ...[...CLASSES, ...MORE_CLASSES].map(({ name }) => name),
  ..."JSON Math Reflect Proxy Intl process fetch structuredClone".split(" "),
  ..."setTimeout setInterval setImmediate queueMicrotask".split(" "),
];
/** Not "exit": Node itself listens there while a module is being evaluated. */
const EVENTS = ["uncaughtException", "unhandledRejection", "message", "disconnect"];

// Kept as they are: an imported file may replace them.
const { ownKeys, getOwnPropertyDescriptor } = Reflect;
const { is } = Object;
const stringify = JSON.stringify.bind(JSON);
const cwd = process.cwd.bind(process);
const listenerCount = process.listenerCount.bind(process);
const global = globalThis as unknown as Readonly<Record<string, unknown>>;

let before: readonly unknown[] = [];

/** From now on changes count. */
export function rememberShared(): void {
  before = state();
}

export function isSharedChanged(): boolean {
  try {
    const now = state();
    for (let i = 0; i < Math.max(now.length, before.length); i++) if (!is(now[i], before[i])) return true;
    return false;
  } catch {
    return true;
  }
}

function state(): readonly unknown[] {
  const found: unknown[] = [cwd(), stringify({ ...process.env })];
  for (const name of NAMES) found.push(global[name]);
  for (const event of EVENTS) found.push(listenerCount(event));
  for (const holder of HOLDERS) {
    for (const key of ownKeys(holder)) {
      const { get, value } = getOwnPropertyDescriptor(holder, key)!;
      // A key put back to nothing is as good as none.
      if (get !== undefined || value !== undefined) found.push(key, get ?? value);
    }
  }
  return found;
}
