/** What may be asked of a run, as a choice in a dialog and as a call. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { CommandDone } from "../../../api/contracts-commands.ts";
import type { CellSelection } from "../../../remote/index.ts";
import { api } from "../api/api.ts";

export const ACTIONS = ["clear", "success", "failed", "skipped"] as const;
/** Run again, or count as this. */
export type Action = (typeof ACTIONS)[number];

export interface CellsOf {
  readonly dagId: string;
  readonly runId: string;
  /** Left out, with groups: the whole run. */
  readonly tasks?: CellSelection["tasks"];
  readonly groups?: readonly string[];
}

export interface Reach {
  readonly upstream: boolean;
  readonly downstream: boolean;
  readonly onlyFailed: boolean;
}

async function send(
  of: CellsOf,
  action: Action,
  reach: Reach,
  more: CellSelection,
  key?: string,
): Promise<CommandDone> {
  const { dagId, runId, tasks, groups } = of;
  const cells = { tasks, groups, ...reach, ...more };
  const call = { idempotencyKey: key };
  return action === "clear"
    ? await api.runs.clear(dagId, runId, cells, call)
    : await api.runs.mark(dagId, runId, action, cells, call);
}

/** Which cells it would be, as the run stands now. */
export function usePreview(of: CellsOf, action: Action, reach: Reach) {
  return useQuery({
    queryKey: ["preview", of, action, reach],
    queryFn: () => send(of, action, reach, { dryRun: true }),
    staleTime: 0,
  });
}

export function useCommand({ dagId }: CellsOf) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ of, action, reach, key }: { of: CellsOf; action: Action; reach: Reach; key: string }) =>
      send(of, action, reach, {}, key),
    onSuccess: () => seen(client, dagId),
  });
}

export function useEnd(dagId: string, runId: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ as, reason }: { as: "cancelled" | "failed"; reason: string }) =>
      api.runs.end(dagId, runId, { as, reason: reason === "" ? undefined : reason }),
    onSuccess: () => seen(client, dagId),
  });
}

async function seen(client: ReturnType<typeof useQueryClient>, dagId: string): Promise<void> {
  await Promise.all([
    client.invalidateQueries({ queryKey: ["run", dagId] }),
    client.invalidateQueries({ queryKey: ["tries", dagId] }),
    client.invalidateQueries({ queryKey: ["grid", dagId] }),
    client.invalidateQueries({ queryKey: ["runs"] }),
  ]);
}
