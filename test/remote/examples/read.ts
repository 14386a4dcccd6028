import { createClient } from "meridian/client";

const client = createClient({ url: process.env["MERIDIAN_API_URL"] ?? "http://127.0.0.1:8080" });

// Over all pages; `all(20)` and `first()` take less.
for await (const dag of client.dags.list({ tag: ["example"], paused: false })) {
  console.log(dag.dagId, dag.lastRuns.at(-1)?.state ?? "never ran", dag.nextInterval?.end ?? "by hand");
}

const failed = await client.runs.list({ state: ["failed"], from: "2026-05-01T00:00:00Z" }).all(20);
for (const { dagId, runId } of failed) {
  const { cells } = await client.runs.get(dagId, runId);
  for (const { taskId, mapIndex, ...cell } of cells.filter(({ state }) => state === "failed")) {
    const { text } = await client.tasks.log({ dagId, runId, taskId, mapIndex, try: cell.try });
    console.log(`--- ${dagId} ${runId} ${taskId}\n${text}`);
  }
}
