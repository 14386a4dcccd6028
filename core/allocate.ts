/**
 * The allocator (design 4): which waiting requests are granted now, and a reason in words for each that waits.
 * Pure. Each request draws on its pool and on limits beside it; a full account holds up only those that draw on it (K46).
 */
import {
  behindInWords,
  belowDialInWords,
  dialFullInWords,
  exhaustedInWords,
  fullInWords,
  keptInWords,
  neverInWords,
} from "./allocate-words.ts";
import { groupBy } from "./group-by.ts";
import { MIN_SHARE, type ClassNumber, type Dial } from "./limits.ts";

export interface AccountView {
  readonly key: string;
  /** The ceiling; null: no such account exists. */
  readonly slots: number | null;
  /** What the leases granted now take; may exceed `slots` after a shrink. */
  readonly used: number;
  /** Of a tenant. Left out: it is none. */
  readonly tenant?: TenantView;
  /** Of a pool: slots that went to higher classes while the lowest and the middle one waited. Left out: none. */
  readonly owed?: readonly [number, number];
}

interface TenantView {
  /** Its cohort's account; null: nobody lends to it. */
  readonly cohort: string | null;
  /** So many slots with what it borrows; null: all that is lent. */
  readonly most: number | null;
  /** Core-hours of today, when they are used up; else null. */
  readonly exhausted: number | null;
  /** Slots in use on an average of late, older use counting less (`USE_HALF_LIFE_MS`). */
  readonly recent: number;
}

export interface WaitingRequest {
  readonly id: string;
  /** Of its pool, its tenant and that one's cohort; of a DAG's and a task's limit it takes one place. */
  readonly slots: number;
  readonly priority: number;
  /** When it was asked for: a number that grows. */
  readonly seq: number;
}

/** Requests that draw on the same accounts, in order. */
export interface Lane {
  /** The pool (or the active runs of a DAG) first, then limits. */
  readonly accounts: readonly string[];
  /** Left out: standard. */
  readonly class?: ClassNumber;
  readonly heads: readonly WaitingRequest[];
}

/** An owner waits for what others hold beyond their own. */
export interface Reclaim {
  /** Account of who lent. */
  readonly owner: string;
  /** Whose tries give back: those of other tenants of this cohort, or those of runs by hand (`adhoc:POOL`). */
  readonly from: string;
  /** Only tries in this pool help; null: any. */
  readonly pool: string | null;
  readonly slots: number;
  /** The requests that wait for it. */
  readonly ids: readonly string[];
}

export interface Allocation {
  readonly granted: readonly string[];
  /** Reason by request id, for the heads that were looked at. */
  readonly reasons: ReadonlyMap<string, string>;
  readonly reclaims: readonly Reclaim[];
  /** What pools owe the lower classes from now on, where that changed. */
  readonly owed: ReadonlyMap<string, readonly [number, number]>;
}

/** An account while a pass lasts. */
interface Book extends Omit<AccountView, "used" | "owed"> {
  used: number;
  /** Slots of the first that did not fit: those behind wait for it. */
  awaited: number | null;
  /** How much of `used` is only set aside, for who waits for `keptFor`. */
  kept: number;
  keptFor: string | null;
  readonly owed: [number, number];
}

interface Queue {
  readonly drawn: readonly Book[];
  readonly class: ClassNumber;
  readonly heads: readonly WaitingRequest[];
  at: number;
}

const DIAL = "dial:";

/**
 * Within a pool: who is owed his minimum share, then who stays within his tenant's own slots, the higher class, the
 * tenant that used less of its share, the higher priority, first come. A request that its pool has too little for holds
 * up those behind it there, so that a big one is not starved by small ones (K44), and its places in its limits are set
 * aside; one whose limit is full holds up those behind it in that limit alone; one that can never fit is passed over (K45).
 */
export function allocate(
  accounts: readonly AccountView[],
  lanes: readonly Lane[],
  dial: Dial | null = null,
  /** Tries under way, for the dial. */
  triesUsed = 0,
): Allocation {
  const books = new Map(accounts.map((view) => [view.key, bookOf(view)]));
  if (dial !== null && dial.tries !== null)
    books.set(DIAL, bookOf({ key: DIAL, slots: dial.tries, used: triesUsed }));
  const pass = new Pass(books, dial);
  const shared = groupBy(
    lanes.map((lane) => pass.queueOf(lane)),
    ({ drawn }) => drawn[0]!,
  );
  // The only lane of an account that nothing else is drawn on: its order is its own.
  const others: Queue[] = [];
  for (const queues of shared.values()) {
    if (queues.length > 1 || queues[0]!.drawn.length > 1) others.push(...queues);
    else pass.serve(queues[0]!);
  }
  pass.serveAll(others);
  return pass.answer(shared);
}

const bookOf = (view: AccountView): Book => ({
  ...view,
  awaited: null,
  kept: 0,
  keptFor: null,
  owed: [...(view.owed ?? [0, 0])],
});

class Pass {
  readonly #books: ReadonlyMap<string, Book>;
  readonly #dial: Dial | null;
  readonly #granted: string[] = [];
  readonly #reasons = new Map<string, string>();
  /** By owner and pool. */
  readonly #reclaims = new Map<string, Reclaim>();
  /** Slots that each owner takes back, over all pools. */
  readonly #reclaimed = new Map<string, number>();
  /** Queues by pool, of those that are not through. */
  #open: Queue[] = [];

  constructor(books: ReadonlyMap<string, Book>, dial: Dial | null) {
    this.#books = books;
    this.#dial = dial;
  }

  queueOf(lane: Lane): Queue {
    // A limit that is no more bounds nothing.
    const drawn = lane.accounts.flatMap((key) => this.#books.get(key) ?? []);
    const dial = lane.accounts[0]!.startsWith("pool:") ? this.#books.get(DIAL) : undefined;
    return {
      drawn: dial === undefined ? drawn : [...drawn, dial],
      class: lane.class ?? 1,
      heads: lane.heads,
      at: 0,
    };
  }

  serve(queue: Queue): void {
    this.#skipNever(queue);
    while (queue.at < queue.heads.length) this.#next(queue);
  }

  serveAll(queues: readonly Queue[]): void {
    for (const queue of queues) this.#skipNever(queue);
    this.#open = queues.filter(({ heads, at }) => at < heads.length);
    while (this.#open.length > 0) {
      let best = this.#open[0]!;
      let rank = this.#rank(best);
      for (const queue of this.#open) {
        const other = queue === best ? rank : this.#rank(queue);
        if (isBefore(other, rank)) [best, rank] = [queue, other];
      }
      this.#next(best);
      if (best.at === best.heads.length) this.#open = this.#open.filter((queue) => queue !== best);
    }
  }

  answer(pools: ReadonlyMap<Book, readonly Queue[]>): Allocation {
    const owed = new Map<string, readonly [number, number]>();
    for (const [pool, queues] of pools) {
      for (const one of [0, 1] as const)
        if (
          !queues.some((queue) => queue.class === one && queue.heads.some(({ id }) => this.#reasons.has(id)))
        )
          pool.owed[one] = 0;
      owed.set(pool.key, pool.owed);
    }
    return {
      granted: this.#granted,
      reasons: this.#reasons,
      reclaims: [...this.#reclaims.values()],
      owed,
    };
  }

  /** Smaller goes first, place by place. */
  #rank({ drawn, class: own, heads, at }: Queue): readonly number[] {
    const head = heads[at]!;
    const pool = drawn[0]!;
    const isOwed = own < 2 && pool.owed[own as 0 | 1] >= (MIN_SHARE - 1) * head.slots;
    const tenant = drawn.find((book) => book.tenant !== undefined);
    const isOwn = tenant === undefined || tenant.used + head.slots <= tenant.slots!;
    const share =
      tenant === undefined ? 0 : (tenant.used + tenant.tenant!.recent) / Math.max(tenant.slots!, 1);
    return [isOwed ? 0 : 1, isOwn ? 0 : 1, -own, share, -head.priority, head.seq];
  }

  /** What can never fit is told so, and its queue goes by the next: neither rank nor debt is made of it (K45). */
  #skipNever(queue: Queue): void {
    const { drawn, heads } = queue;
    for (; queue.at < heads.length; queue.at++) {
      const head = heads[queue.at]!;
      const needs = (book: Book): number => needsOf(book, drawn[0]!, head);
      const never = drawn.find((book) => book.slots === null || needs(book) > mostOf(book));
      if (never === undefined) return;
      this.#reasons.set(head.id, neverInWords(never.key, never.slots, needs(never)));
    }
  }

  /** Grants the queue's next, or tells it, and all behind it, why they wait. */
  #next(queue: Queue): void {
    const { drawn, heads } = queue;
    const pool = drawn[0]!;
    for (; queue.at < heads.length; queue.at++, this.#skipNever(queue)) {
      const head = heads[queue.at]!;
      const needs = (book: Book): number => needsOf(book, pool, head);
      if (pool.key.startsWith("pool:") && isBelow(this.#dial, queue.class, head)) {
        this.#reasons.set(head.id, belowDialInWords(this.#dial!));
        continue;
      }
      const lacking = drawn.filter((book) => book.awaited !== null || isShort(book, needs(book)));
      if (lacking.length === 0) {
        this.#granted.push(head.id);
        for (const book of drawn) book.used += needs(book);
        this.#owe(pool, queue, head.slots);
        queue.at++;
        this.#skipNever(queue);
        return;
      }
      this.#wait(drawn, lacking, head, needs);
    }
  }

  #wait(
    drawn: readonly Book[],
    lacking: readonly Book[],
    head: WaitingRequest,
    needs: (book: Book) => number,
  ): void {
    const pool = drawn[0]!;
    this.#reasons.set(head.id, this.#lackInWords(lacking[0]!, needs));
    this.#reclaim(drawn, lacking, head);
    const full = lacking.filter((book) => book.awaited === null);
    for (const book of full) if (book !== pool) book.awaited = needs(book);
    if (lacking.length > 1 || full[0] !== pool) return;
    pool.awaited = head.slots;
    for (const book of drawn.slice(1)) {
      book.used += needs(book);
      book.kept += needs(book);
      book.keptFor ??= pool.key;
    }
  }

  /** A lower class of the pool that waits is owed its share of what goes to a higher one. */
  #owe(pool: Book, queue: Queue, slots: number): void {
    for (const lower of [0, 1] as const) {
      if (lower >= queue.class) {
        if (lower === queue.class) pool.owed[lower] = Math.max(0, pool.owed[lower] - (MIN_SHARE - 1) * slots);
        continue;
      }
      const waiting = this.#open.find((other) => other.drawn[0] === pool && other.class === lower);
      if (waiting === undefined) continue;
      // No more than it takes for its next one.
      const next = waiting.heads[waiting.at]!;
      pool.owed[lower] = Math.min(pool.owed[lower] + slots, (MIN_SHARE - 1) * next.slots);
    }
  }

  /** A tenant within its own slots takes back what it lent; scheduled work what runs by hand hold of its floor. */
  #reclaim(drawn: readonly Book[], lacking: readonly Book[], head: WaitingRequest): void {
    const pool = drawn[0]!;
    const owner = drawn.find((book) => book.tenant !== undefined);
    const cohort = drawn.find((book) => book.key === owner?.tenant!.cohort);
    if (owner !== undefined && cohort !== undefined) {
      const taken = owner.used - owner.kept + (this.#reclaimed.get(owner.key) ?? 0);
      if (lacking.every((book) => book === pool || book === cohort) && taken + head.slots <= owner.slots!)
        return this.#take(owner.key, cohort.key, lacking.includes(pool) ? pool.key : null, head);
    }
    const adhoc = this.#books.get(`adhoc:${pool.key.slice("pool:".length)}`);
    if (adhoc === undefined || drawn.includes(adhoc) || adhoc.used <= adhoc.slots!) return;
    if (lacking.length === 1 && lacking[0] === pool) this.#take(pool.key, adhoc.key, pool.key, head);
  }

  #take(owner: string, from: string, pool: string | null, { id, slots }: WaitingRequest): void {
    const key = `${owner} ${pool ?? ""}`;
    const { slots: before, ids } = this.#reclaims.get(key) ?? { slots: 0, ids: [] };
    this.#reclaims.set(key, { owner, from, pool, slots: before + slots, ids: [...ids, id] });
    this.#reclaimed.set(owner, (this.#reclaimed.get(owner) ?? 0) + slots);
  }

  #lackInWords(book: Book, needs: (book: Book) => number): string {
    const { key, used, awaited, kept, keptFor } = book;
    const exhausted = book.tenant?.exhausted ?? null;
    if (exhausted !== null) return exhaustedInWords(key, exhausted);
    if (key === DIAL) return dialFullInWords(this.#dial!, used - kept);
    if (keptFor !== null && !isShort({ ...book, used: used - kept }, needs(book)))
      return keptInWords(key, keptFor);
    const most = mostOf(book);
    return awaited !== null && !isShort(book, needs(book))
      ? behindInWords(key, awaited, most - used, most)
      : fullInWords(key, used - kept, most, needs(book));
  }
}

/** Smaller goes first, place by place. */
function isBefore(a: readonly number[], b: readonly number[]): boolean {
  const at = a.findIndex((value, place) => value !== b[place]);
  return at >= 0 && a[at]! < b[at]!;
}

/** Of a DAG's or a task's limit, and of the dial, a try takes one place; of all else its slots. */
const needsOf = (book: Book, pool: Book, head: WaitingRequest): number =>
  book === pool || !(book.key.startsWith("task") || book.key === DIAL) ? head.slots : 1;

/**
 * The most slots of it that may ever be in use; of one that does not exist none. A tenant may borrow of its cohort, whose own
 * ceiling stands beside it.
 */
export function mostOf({ slots, tenant }: Pick<AccountView, "slots" | "tenant">): number {
  if (tenant === undefined || tenant.cohort === null) return slots ?? -1;
  return tenant.most ?? Number.POSITIVE_INFINITY;
}

const isShort = (book: Book, needs: number): boolean =>
  book.used + needs > mostOf(book) || (book.tenant?.exhausted ?? null) !== null;

/** Whether the dial holds it back, whatever is free. */
export const isBelow = (dial: Dial | null, own: ClassNumber, head: { readonly priority: number }): boolean =>
  dial !== null &&
  ((dial.belowClass !== null && own < dial.belowClass) ||
    (dial.belowPriority !== null && head.priority < dial.belowPriority));
