/** Reads and turns of the emergency dial. */
import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { DialState } from "../../../api/contracts-dial.ts";
import type { DialBounds, DialWish } from "../../../remote/index.ts";
import { api } from "../api/api.ts";
import { pollMs } from "../api/live.ts";

const LIVE_MS = 1000;
/** In force, what it holds back moves; its turns come by the stream. */
const HELD_MS = 3000;
const CHECK_MS = 15_000;

export function useDial() {
  return useQuery({
    queryKey: ["dial"],
    queryFn: ({ signal }) => api.dial.show({ signal }),
    refetchInterval: ({ state: { data } }) =>
      pollMs(LIVE_MS, (data?.inForce ?? null) === null ? CHECK_MS : HELD_MS),
  });
}

/** What a turn would do now; null: there is nothing to ask. */
export function useDialPreview(bounds: DialBounds | null) {
  return useQuery({
    queryKey: ["dial-preview", bounds],
    queryFn: ({ signal }) => api.dial.preview(bounds!, { signal }),
    enabled: bounds !== null,
    placeholderData: keepPreviousData,
  });
}

export type Turn =
  | { readonly kind: "set"; readonly wish: DialWish }
  | { readonly kind: "off"; readonly reason: string }
  | { readonly kind: "undo" };

export function useTurn() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async (turn: Turn) => {
      if (turn.kind === "set") return await api.dial.set(turn.wish);
      return turn.kind === "off" ? await api.dial.off(turn.reason) : await api.dial.undo();
    },
    onSuccess: ({ inForce, turns }) => {
      client.setQueryData<DialState>(["dial"], { inForce, turns });
      return client.invalidateQueries({ queryKey: ["pools"] });
    },
  });
}
