import { once } from "node:events";
import type { Command } from "commander";
import { connect, withServer, type ServerOptions } from "./connect.ts";
import { pick } from "./logs.ts";
import { whole } from "./read.ts";
import { ofTask, runIdOf } from "./runs.ts";

interface Options extends ServerOptions {
  readonly try?: number;
  readonly mapIndex?: number;
}

export function addOutput(tasks: Command): void {
  withServer(ofTask(tasks.command("output")))
    .description("what a task returned, as JSON, whatever its size")
    .option("--try <n>", "of this try; default: the last one that succeeded", whole(1))
    .option("--map-index <n>", "which instance of a mapped task", whole(0))
    .addHelpText(
      "after",
      "\nExamples:\n  meridian tasks output sales_daily report\n  meridian tasks output sales_daily orders 2026-05-09 | jq length",
    )
    .action(async (dagId: string, taskId: string, text: string | undefined, options: Options) => {
      const client = await connect(options);
      const runId = await runIdOf(client, dagId, text);
      const of = { dagId, runId, taskId, mapIndex: options.mapIndex };
      const list = await client.tasks.tries(of);
      const succeeded = list.tries.findLast(({ state }) => state === "success");
      const tried = pick(list, of, options.try ?? succeeded?.try);
      for await (const piece of client.tasks.outputText({ ...of, try: tried.try })) {
        // A reader that is slower than the server is waited for: the rest need not lie here.
        if (!process.stdout.write(piece)) await once(process.stdout, "drain");
      }
      process.stdout.write("\n");
    });
}
