import type { Command } from "commander";
import { checkRequestedId } from "../core/ids.ts";
import { readConfig } from "../platform/config.ts";
import { apiClient } from "./api-url.ts";
import { printRows, withOutput, type Output } from "./output.ts";

/** `meridian runs …` */
export function runCommands(program: Command): void {
  const runs = program.command("runs").description("runs: list, show");
  withOutput(runs.command("list [dag]").description("runs of a DAG, or of all, newest first"))
    .option("--state <state>", "queued, running, success, failed or cancelled")
    .option("--limit <n>", "how many", "25")
    .action(async (dag: string | undefined, options: Output & { state?: string; limit: string }) => {
      const api = apiClient(readConfig());
      const query = { limit: options.limit, ...(options.state && { state: options.state }) } as Record<
        string,
        string
      >;
      const answer =
        dag === undefined
          ? await (await api.runs.$get({ query })).json()
          : await (
              await api.dags[":dagId"].runs.$get({ param: { dagId: checkRequestedId("dag", dag) }, query })
            ).json();
      printRows(answer.runs, options.output, ["dagId", "runId", "runType", "state", "startedAt", "endedAt"]);
    });
  withOutput(
    runs.command("show <dag> <run>").description("a run: its state, its tasks and why they wait"),
  ).action(async (dag: string, runId: string, { output }: Output) => {
    const api = apiClient(readConfig());
    const param = { dagId: checkRequestedId("dag", dag), runId };
    const run = await (await api.dags[":dagId"].runs[":runId"].$get({ param })).json();
    if (output === "json") {
      console.log(JSON.stringify(run, null, 2));
      return;
    }
    console.log(`${run.dagId} ${run.runId}: ${run.state}${run.reason === null ? "" : ` (${run.reason})`}`);
    if (run.temporalUrl !== null) console.log(run.temporalUrl);
    // As they began; what has not, last.
    const cells = run.cells.toSorted((a, b) => (a.startedAt ?? "~").localeCompare(b.startedAt ?? "~"));
    printRows(cells, output, ["taskId", "state", "try", "startedAt", "endedAt", "waits"]);
  });
}
