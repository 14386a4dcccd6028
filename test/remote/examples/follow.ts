import { createClient } from "meridian/client";

const client = createClient({ url: process.env["MERIDIAN_API_URL"] ?? "http://127.0.0.1:8080" });

// Until the first run ends; `events({ dagId })` also tells the cells of one DAG.
for await (const { changes } of client.events()) {
  if (changes === null) {
    console.log("some changes may have been missed: ask for everything anew");
    continue;
  }
  for (const run of changes.runs) console.log(run.dagId, run.runId, run.state);
  if (changes.runs.some(({ endedAt }) => endedAt !== null)) break;
}
