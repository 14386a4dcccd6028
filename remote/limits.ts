/** The limits file. */
import type { Limits, LimitsApplied, LimitsPlan } from "../api/contracts-limits.ts";
import type { CallOptions, ChangeOptions, Http } from "./http.ts";

export const limitsCalls = (http: Http) => ({
  /** What is in force; all null before a first one was applied. */
  get: async (call: CallOptions = {}): Promise<Limits> => await http.json("/limits", call),
  /** What a file would change; `text` is YAML or JSON. An ApiError `bad_limits` has all its mistakes. */
  plan: async (text: string, call: CallOptions = {}): Promise<LimitsPlan> =>
    await http.json("/limits/plan", { ...call, method: "POST", body: { text } }),
  /**
   * Puts a file in force. `ifCurrent`: only if the limits in force are those of a plan, its `current`; else an ApiError
   * `limits_changed`.
   */
  apply: async (
    text: string,
    more: ChangeOptions & { readonly ifCurrent?: number | null | undefined } = {},
  ): Promise<LimitsApplied> => {
    const { ifCurrent, ...call } = more;
    const body = { text, ...(ifCurrent !== undefined && { ifCurrent }) };
    return await http.json("/limits", { ...call, method: "PUT", body });
  },
});
