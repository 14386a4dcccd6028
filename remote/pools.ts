import type { Pool, PoolList, PoolWork } from "../api/contracts.ts";
import { type CallOptions, type ChangeOptions, type Http, pathOf } from "./http.ts";

export const poolCalls = (http: Http) => ({
  list: async (call: CallOptions = {}): Promise<Pool[]> => (await http.json<PoolList>("/pools", call)).pools,
  /** Who holds its slots, and who waits for them and why. */
  work: async (name: string, call: CallOptions = {}): Promise<PoolWork> =>
    await http.json(pathOf("pools", name, "work"), call),
  /** Makes or resizes it. */
  set: async (
    name: string,
    pool: { readonly slots: number; readonly description?: string },
    call: ChangeOptions = {},
  ): Promise<Pool> => await http.json(pathOf("pools", name), { ...call, method: "POST", body: pool }),
  delete: async (name: string, call: ChangeOptions = {}): Promise<void> => {
    await http.json(pathOf("pools", name), { ...call, method: "DELETE" });
  },
});
