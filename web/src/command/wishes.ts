/** What may be asked of a run, as a choice in a dialog and as a call. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { DagDetail, RunDetail } from "../../../api/contracts.ts";
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

export const VERSIONS = ["original", "latest"] as const;
export type Version = (typeof VERSIONS)[number];

/** By number: the version that a run has, and the one in force. */
export type VersionNumbers = Readonly<Record<Version, number>>;

/** Null: there is nothing to choose. */
export function versionsOf(dag: DagDetail, run: RunDetail | undefined): VersionNumbers | null {
  if (run === undefined || !dag.active || dag.version === null || dag.version === run.version) return null;
  return { original: run.version, latest: dag.version };
}

export interface Wish {
  readonly of: CellsOf;
  readonly action: Action;
  readonly reach: Reach;
  /** To run again with. */
  readonly version: Version;
}

async function send(wish: Wish, more: CellSelection, key?: string): Promise<CommandDone> {
  const { of, action, reach, version } = wish;
  const { dagId, runId, tasks, groups } = of;
  const cells = { tasks, groups, ...reach, ...more };
  const call = { idempotencyKey: key };
  return action === "clear"
    ? await api.runs.clear(dagId, runId, { ...cells, version }, call)
    : await api.runs.mark(dagId, runId, action, cells, call);
}

/** Which cells it would be, as the run stands now. */
export function usePreview(wish: Wish, versions: VersionNumbers | null) {
  return useQuery({
    queryKey: ["preview", wish, versions],
    queryFn: () => send(wish, { dryRun: true }),
    staleTime: 0,
  });
}

export function useCommand({ dagId }: CellsOf) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ key, ...wish }: Wish & { readonly key: string }) => send(wish, {}, key),
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

export function usePriority(dagId: string, runId: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (priority: number) => api.runs.priority(dagId, runId, priority),
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
