/** Reads and changes of pools beyond the list of them. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { Pool, PoolWork } from "../../../api/contracts.ts";
import { deleteAt, getJson, newKey, postJson } from "../api/fetch.ts";

/** Who waits moves fast, and is read by people. */
const WORK_MS = 2000;

const poolPath = (name: string): string => `/pools/${encodeURIComponent(name)}`;

export function usePoolWork(name: string) {
  return useQuery({
    queryKey: ["pool-work", name],
    queryFn: ({ signal }) => getJson<PoolWork>(`${poolPath(name)}/work`, signal),
    refetchInterval: WORK_MS,
  });
}

export interface PoolWish {
  readonly name: string;
  readonly slots: number;
  readonly description: string;
}

/** Makes a pool, or changes it. */
export function useSetPool() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ name, slots, description }: PoolWish) =>
      postJson<Pool>(poolPath(name), { slots, description }, newKey()),
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
    mutationFn: (name: string) => deleteAt(poolPath(name)),
    onSettled: () => client.invalidateQueries({ queryKey: ["pools"] }),
  });
}
