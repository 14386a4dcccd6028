import type { Command } from "commander";
import { checkRequestedId } from "../core/ids.ts";
import { readConfig } from "../platform/config.ts";
import { apiClient } from "./api-url.ts";
import { printRows, type Format } from "./output.ts";

/** `meridian runs …` */
export function runCommands(program: Command): void {
  const runs = program.command("runs").description("runs: list, show");
  runs
    .command("list [dag]")
    .description("runs of a DAG, or of all, newest first")
    .option("--state <state>", "queued, running, success, failed or cancelled")
    .option("--limit <n>", "how many", "25")
    .option("--output <format>", "table or json", "table")
    .action(async (dag: string | undefined, options: { state?: string; limit: string; output: Format }) => {
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
  runs
    .command("show <dag> <run>")
    .description("a run: its state, its tasks and why they wait")
    .option("--output <format>", "table or json", "table")
    .action(async (dag: string, runId: string, { output }: { output: Format }) => {
      const api = apiClient(readConfig());
      const param = { dagId: checkRequestedId("dag", dag), runId };
      const run = await (await api.dags[":dagId"].runs[":runId"].$get({ param })).json();
      if (output === "json") {
        console.log(JSON.stringify(run, null, 2));
        return;
      }
      console.log(`${run.dagId} ${run.runId}: ${run.state}${run.reason === null ? "" : ` (${run.reason})`}`);
      if (run.temporalUrl !== null) console.log(run.temporalUrl);
      printRows(run.cells, output, ["taskId", "state", "try", "startedAt", "endedAt"]);
    });
}
