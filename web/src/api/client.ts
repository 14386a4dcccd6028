import { QueryClient } from "@tanstack/react-query";
import { watchTrouble } from "./trouble.ts";

export const client = new QueryClient({
  defaultOptions: {
    queries: {
      // Everything is polled, and the next poll is the retry.
      retry: false,
      // The browser's idea of "online" says nothing about an API on this machine.
      networkMode: "always",
      refetchOnWindowFocus: "always",
      staleTime: 500,
    },
    mutations: { networkMode: "always" },
  },
});

export const trouble = watchTrouble(client);
