import { ApiError, createClient } from "meridian/client";
import type * as exports from "../../../dags/sales-export.ts";

const client = createClient<typeof exports>({
  url: process.env["MERIDIAN_API_URL"] ?? "http://127.0.0.1:8080",
});

try {
  // Checked by tsc against the DAG's own params: a wrong id, field or value does not compile.
  const { dagId, runId } = await client.trigger("sales_export", { from: "2026-05-01", region: "eu" });
  const run = await client.runs.wait(dagId, runId, {
    timeoutMs: 600_000,
    onCells: (cells) => console.log(cells.map(({ taskId, state }) => `${taskId}: ${state}`).join("\n")),
  });
  console.log(`${dagId} ${runId}: ${run.state}`);
  process.exitCode = run.state === "success" ? 0 : 1;
} catch (error) {
  if (!(error instanceof ApiError) || !error.is("bad_params")) throw error;
  for (const { path, message } of error.details.errors) console.error(`${path}: ${message}`);
  process.exitCode = 2;
}
