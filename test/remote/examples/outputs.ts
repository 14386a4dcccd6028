import { createClient } from "meridian/client";

const client = createClient({ url: process.env["MERIDIAN_API_URL"] ?? "http://127.0.0.1:8080" });

const good = { dagId: "sales_export", state: ["success"], until: "2026-05-10T00:00:00Z" } as const;
for (const { dagId, runId } of await client.runs.list(good).all(1)) {
  const task = { dagId, runId, taskId: "select" };
  // Without `try`: of the last one that succeeded.
  console.log(`${runId} returned`, await client.tasks.output(task));
  const { tries } = await client.tasks.tries(task);
  for (const { try: number, state, error } of tries)
    console.log(`try ${number}: ${state}`, error?.message ?? "");
  // The last try's; `{ ...task, try: 1 }` is the first one's.
  console.log((await client.tasks.log(task)).text);
}
