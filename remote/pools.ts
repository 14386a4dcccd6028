import type { Pool, PoolHistory, PoolList, PoolWork } from "../api/contracts.ts";
import { type CallOptions, type ChangeOptions, type Http, pathOf } from "./http.ts";

export const poolCalls = (http: Http) => ({
  list: async (call: CallOptions = {}): Promise<Pool[]> => (await http.json<PoolList>("/pools", call)).pools,
  /** Who holds its slots, and who waits for them and why. */
  work: async (name: string, call: CallOptions = {}): Promise<PoolWork> =>
    await http.json(pathOf("pools", name, "work"), call),
  /** How full it was, how long it made wait, what came and was granted. Default: the last 60 minutes. */
  history: async (
    name: string,
    query: { readonly minutes?: number } = {},
    call: CallOptions = {},
  ): Promise<PoolHistory> => await http.json(pathOf("pools", name, "history"), { ...call, query }),
  /** Makes or resizes it. */
  set: async (
    name: string,
    pool: {
      readonly slots: number;
      readonly description?: string;
      /** Slots that runs by hand cannot take. Left out: as it was. */
      readonly scheduledFloor?: number;
    },
    call: ChangeOptions = {},
  ): Promise<Pool> => await http.json(pathOf("pools", name), { ...call, method: "POST", body: pool }),
  delete: async (name: string, call: ChangeOptions = {}): Promise<void> => {
    await http.json(pathOf("pools", name), { ...call, method: "DELETE" });
  },
});
