/**
 * The allocator (design 4): which waiting requests are granted now, and a reason in words for each that waits.
 * Pure. Each request draws on its pool and on limits beside it; a full account holds up only those that draw on it (K46).
 */
export interface AccountView {
  readonly key: string;
  /** The ceiling; null: no such account exists. */
  readonly slots: number | null;
  /** What the leases granted now take; may exceed `slots` after a shrink. */
  readonly used: number;
}

export interface WaitingRequest {
  readonly id: string;
  /** Of its pool; of each limit it takes one place. */
  readonly slots: number;
  readonly priority: number;
  /** When it was asked for: a number that grows. */
  readonly seq: number;
}

/** Requests that draw on the same accounts, in order. */
export interface Lane {
  /** The pool (or the active runs of a DAG) first, then limits. */
  readonly accounts: readonly string[];
  readonly heads: readonly WaitingRequest[];
}

export interface Allocation {
  readonly granted: readonly string[];
  /** Reason by request id, for the heads that were looked at. */
  readonly reasons: ReadonlyMap<string, string>;
}

/** An account while a pass lasts. */
interface Book {
  readonly key: string;
  readonly slots: number | null;
  used: number;
  /** Slots of the first that did not fit: those behind wait for it. */
  awaited: number | null;
  /** Places in use that are none yet: they are set aside for who waits for another account. */
  readonly keptFor: string[];
}

/**
 * Highest priority first, then first come. A request that its pool has too little for holds up those behind it there, so
 * that a big one is not starved by small ones (K44), and its places in its limits are set aside; one whose limit is full
 * holds up those behind it in that limit alone; one that can never fit is passed over (K45).
 */
export function allocate(accounts: readonly AccountView[], lanes: readonly Lane[]): Allocation {
  const books = new Map(
    accounts.map((account): [string, Book] => [account.key, { ...account, awaited: null, keptFor: [] }]),
  );
  const granted: string[] = [];
  const reasons = new Map<string, string>();
  const waiting = lanes.flatMap(({ accounts: keys, heads }) => {
    const drawn = keys.map((key) => books.get(key)!);
    return heads.map((head) => ({ head, drawn }));
  });
  waiting.sort((a, b) => b.head.priority - a.head.priority || a.head.seq - b.head.seq);
  for (const { head, drawn } of waiting) {
    const needs = (book: Book): number => (book === drawn[0] ? head.slots : 1);
    const never = drawn.find((book) => book.slots === null || needs(book) > book.slots);
    const lacking = drawn.filter((book) => book.awaited !== null || book.used + needs(book) > book.slots!);
    if (never !== undefined) {
      reasons.set(head.id, neverInWords(never, needs(never)));
    } else if (lacking.length === 0) {
      granted.push(head.id);
      for (const book of drawn) book.used += needs(book);
    } else {
      const [first] = lacking;
      reasons.set(head.id, lackInWords(first!, needs(first!)));
      const full = lacking.filter((book) => book.awaited === null);
      const limits = full.filter((book) => book !== drawn[0]);
      for (const book of limits) book.awaited = 1;
      if (lacking.length === 1 && full[0] === drawn[0]) {
        full[0]!.awaited = head.slots;
        for (const book of drawn.slice(1)) {
          book.used += 1;
          book.keptFor.push(full[0]!.key);
        }
      }
    }
  }
  return { granted, reasons };
}

function neverInWords({ key, slots }: Book, needs: number): string {
  const name = accountInWords(key);
  return slots === null
    ? `can never run: ${name} does not exist`
    : `can never run: needs ${needs}, ${name} has ${slots}`;
}

function lackInWords({ key, slots, used, awaited, keptFor }: Book, needs: number): string {
  const name = accountInWords(key);
  if (keptFor.length > 0 && used - keptFor.length + needs <= slots!)
    return `waits behind one that waits for ${accountInWords(keptFor[0]!)}: it keeps a place among ${name}`;
  if (awaited !== null && used + needs <= slots!)
    return `waits behind one that needs ${awaited}: ${name} has ${slots! - used} of ${slots} free`;
  return key.startsWith("pool:")
    ? `${name} is full: ${used} of ${slots} in use, needs ${needs}`
    : `${name} are at their limit: ${used - keptFor.length} of ${slots}`;
}

function accountInWords(key: string): string {
  const [kind, name, task] = key.split(":");
  switch (kind) {
    case "runs":
      return `the active runs of dag "${name}"`;
    case "tasks":
      return `the active tasks of dag "${name}"`;
    case "task":
      return `the active tries of task "${name}.${task}"`;
    default:
      return `${kind} "${name}"`;
  }
}
