/**
 * The allocator (design 4): which waiting requests are granted now, and a reason in words for each that waits.
 * Pure; one account at a time, so a full account never holds up another (K46).
 */
export interface AccountView {
  readonly key: string;
  /** The ceiling; null: no such account exists. */
  readonly slots: number | null;
  /** Slots of the leases granted now; may exceed `slots` after a shrink. */
  readonly used: number;
}

export interface WaitingRequest {
  readonly id: string;
  readonly slots: number;
}

export interface Allocation {
  readonly granted: readonly string[];
  /** Reason by request id, for the heads that were looked at. */
  readonly reasons: ReadonlyMap<string, string>;
}

/**
 * `heads` in order: highest priority first, then first come. A head that does not fit holds up those behind it,
 * so that a big request is not starved by small ones (K44); one that can never fit is passed over (K45).
 */
export function allocate(account: AccountView, heads: readonly WaitingRequest[]): Allocation {
  const granted: string[] = [];
  const reasons = new Map<string, string>();
  const name = accountInWords(account.key);
  let used = account.used;
  let blocked = false;
  for (const head of heads) {
    if (account.slots === null) {
      reasons.set(head.id, `can never run: ${name} does not exist`);
    } else if (head.slots > account.slots) {
      reasons.set(head.id, `can never run: needs ${head.slots}, ${name} has ${account.slots}`);
    } else if (!blocked && used + head.slots <= account.slots) {
      granted.push(head.id);
      used += head.slots;
    } else {
      blocked = true;
      reasons.set(head.id, `${name} is full: ${used} of ${account.slots} in use, needs ${head.slots}`);
    }
  }
  return { granted, reasons };
}

function accountInWords(key: string): string {
  const [kind, ...rest] = key.split(":");
  const name = rest.join(":");
  return kind === "runs" ? `the active runs of dag "${name}"` : `${kind} "${name}"`;
}
