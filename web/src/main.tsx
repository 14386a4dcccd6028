import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { client } from "./api/client.ts";
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
import "./runs/runs.css";
import "./pools/pools.css";
import "./imports/imports.css";

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
);
