/** Everything the page changes, as hooks. After a change, what it touched is read again at once. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api } from "./api.ts";

export interface PauseWish {
  readonly dagId: string;
  readonly paused: boolean;
  readonly reason?: string;
}

export function usePause() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ dagId, paused, reason }: PauseWish) =>
      paused
        ? api.dags.pause(dagId, { reason: reason === "" ? undefined : reason })
        : api.dags.unpause(dagId),
    onSettled: (_data, _error, { dagId }) =>
      Promise.all([
        client.invalidateQueries({ queryKey: ["dags"] }),
        client.invalidateQueries({ queryKey: ["dag", dagId] }),
        client.invalidateQueries({ queryKey: ["grid", dagId] }),
      ]),
  });
}

export interface TriggerWish {
  readonly dagId: string;
  /** ISO 8601; absent: now. */
  readonly logicalDate?: string;
  readonly conf: Readonly<Record<string, unknown>>;
  readonly idempotencyKey: string;
}

export function useTrigger() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ dagId, logicalDate, conf, idempotencyKey }: TriggerWish) =>
      api.trigger(dagId, conf, { logicalDate, idempotencyKey }),
    onSuccess: (_run, { dagId }) => client.invalidateQueries({ queryKey: ["grid", dagId] }),
  });
}
