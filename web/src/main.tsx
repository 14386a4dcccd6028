import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiError } from "./api/fetch.ts";
import { App } from "./app.tsx";
import "./ui/base.css";
import "./states/states.css";
import "./ui/ui.css";
import "./shell/shell.css";
import "./dags/dags.css";
import "./dag/dag.css";
import "./grid/grid.css";
import "./panel/panel.css";
import "./log/log.css";
import "./pools/pools.css";
import "./imports/imports.css";

const client = new QueryClient({
  defaultOptions: {
    queries: {
      // Polling is the retry of what is polled; an answer that says no stays no.
      retry: (count, error) => !(error instanceof ApiError) && count < 2,
      retryDelay: 1000,
      // The browser's idea of "online" says nothing about an API on this machine.
      networkMode: "always",
      refetchOnWindowFocus: "always",
      staleTime: 500,
    },
    mutations: { networkMode: "always" },
  },
});

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
);
