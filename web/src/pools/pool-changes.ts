/** Reads and changes of pools beyond the list of them. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api } from "../api/api.ts";
import { pollMs } from "../api/live.ts";

/** Who waits moves fast, and is read by people. */
const WORK_MS = 2000;

export function usePoolWork(name: string) {
  return useQuery({
    queryKey: ["pool-work", name],
    queryFn: ({ signal }) => api.pools.work(name, { signal }),
    refetchInterval: () => pollMs(WORK_MS),
  });
}

export interface PoolWish {
  readonly name: string;
  readonly slots: number;
  readonly description: string;
  readonly scheduledFloor: number;
}

/** Makes a pool, or changes it. */
export function useSetPool() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ name, ...pool }: PoolWish) => api.pools.set(name, pool),
    onSuccess: (_pool, { name }) =>
      Promise.all([
        client.invalidateQueries({ queryKey: ["pools"] }),
        client.invalidateQueries({ queryKey: ["pool-work", name] }),
      ]),
  });
}

export function useDeletePool() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (name: string) => api.pools.delete(name),
    onSettled: () => client.invalidateQueries({ queryKey: ["pools"] }),
  });
}
