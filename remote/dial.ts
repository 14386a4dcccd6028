import type { DialPreview, DialState, DialTurned } from "../api/contracts-dial.ts";
import type { CallOptions, ChangeOptions, Http } from "./http.ts";

/** At least one is given. */
export interface DialBounds {
  /** So many tries at once over all pools. */
  readonly tries?: number | null | undefined;
  /** What is of a lower priority class waits. */
  readonly belowClass?: "standard" | "critical" | null | undefined;
  /** What asks with less waits. */
  readonly belowPriority?: number | null | undefined;
}

export interface DialWish extends DialBounds {
  /** Why; everybody sees it. */
  readonly reason: string;
  /** Tries under way that it would not let begin give their slots back. */
  readonly preempt?: boolean | undefined;
}

/** The emergency dial: in force when a call is answered. */
export const dialCalls = (http: Http) => ({
  show: async (call: CallOptions = {}): Promise<DialState> => await http.json("/dial", call),
  /** What such a turn would hold back now. */
  preview: async (bounds: DialBounds, call: CallOptions = {}): Promise<DialPreview> =>
    await http.json("/dial/preview", { ...call, query: bounds }),
  set: async (wish: DialWish, call: ChangeOptions = {}): Promise<DialTurned> =>
    await http.json("/dial", { ...call, method: "PUT", body: wish }),
  off: async (reason: string, call: ChangeOptions = {}): Promise<DialTurned> =>
    await http.json("/dial", { ...call, method: "DELETE", body: { reason } }),
  /** Brings back what was in force before the last turn. */
  undo: async (call: ChangeOptions = {}): Promise<DialTurned> =>
    await http.json("/dial/undo", { ...call, method: "POST" }),
});
