import type { Command } from "commander";
import { checkRequestedId } from "../core/ids.ts";
import { readConfig } from "../platform/config.ts";
import { apiClient } from "./api-url.ts";
import { addDagsTest, jsonObject } from "./local.ts";
import { printRows, withOutput, type Output } from "./output.ts";

/** `meridian dags …`: the names Airflow users know. */
export function dagCommands(program: Command): void {
  const dags = program.command("dags").description("DAGs: list, trigger, pause, test");
  withOutput(dags.command("list").description("all DAGs with schedule, state and next run"))
    .option("--search <text>", "part of an id")
    .action(async ({ output, search }: Output & { search?: string }) => {
      const api = apiClient(readConfig());
      const rows = [];
      for (let after: string | undefined, more = true; more;) {
        const answer = await api.dags.$get({
          query: { limit: "1000", ...(search && { search }), ...(after && { after }) },
        });
        const page = await answer.json();
        rows.push(...page.dags);
        after = page.after ?? undefined;
        more = page.after !== null;
      }
      const shown =
        output === "json"
          ? rows
          : rows.map((dag) => ({
              ...dag,
              state: dag.active ? (dag.paused ? "paused" : "active") : "no file defines it",
              nextDueAt: dag.active && !dag.paused ? dag.nextDueAt : null,
              lastRun: dag.lastRuns.at(-1)?.state ?? null,
            }));
      printRows(shown, output, ["dagId", "schedule", "state", "nextDueAt", "lastRun", "owner"]);
    });
  withOutput(dags.command("trigger <dag>").description("create and start a run"))
    .option("--logical-date <instant>", "ISO instant; default: now")
    .option("--conf <json>", "JSON object handed to the tasks as `conf`", "{}")
    .action(
      async (dag: string, { output, logicalDate, conf }: Output & { logicalDate?: string; conf: string }) => {
        const dagId = checkRequestedId("dag", dag);
        const api = apiClient(readConfig());
        const json = { conf: jsonObject(conf), ...(logicalDate && { logicalDate }) };
        const run = await (await api.dags[":dagId"].runs.$post({ param: { dagId }, json })).json();
        printRows([run], output, ["dagId", "runId", "state", "workflowId"]);
      },
    );
  for (const action of ["pause", "unpause"] as const) {
    dags
      .command(`${action} <dag>`)
      .description(action === "pause" ? "create no more runs by schedule" : "create runs by schedule again")
      .option("--reason <text>", "why")
      .action(async (dag: string, { reason }: { reason?: string }) => {
        const param = { dagId: checkRequestedId("dag", dag) };
        const one = apiClient(readConfig()).dags[":dagId"];
        if (action === "pause")
          await one.pause.$post({ param, json: reason === undefined ? {} : { reason } });
        else await one.unpause.$post({ param });
        console.log(`${dag} is ${action}d`);
      });
  }
  addDagsTest(dags);
}
