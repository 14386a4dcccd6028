import type { Command } from "commander";
import { isoOf } from "../core/calendar/dates.ts";
import { isDay } from "../core/calendar/day.ts";
import type { Client } from "../remote/index.ts";
import { connect, withServer, type ServerOptions } from "./connect.ts";
import { UsageError } from "./failure.ts";
import { printFields, printJson, say, withQuiet, type Output } from "./output.ts";
import { dayOrInstant, duration, jsonObject } from "./read.ts";
import { pageOf } from "./run-text.ts";
import { startOf } from "./runs.ts";
import { waitAndEnd } from "./wait.ts";

interface TriggerOptions extends Output, ServerOptions {
  readonly logicalDate?: string;
  readonly conf: string;
  readonly idempotencyKey?: string;
  readonly wait?: true;
  readonly timeout?: number;
}

export function addTrigger(dags: Command): void {
  withServer(withQuiet(dags.command("trigger <dag>")))
    .description("create and start a run")
    .option(
      "-l, --logical-date <date>",
      "a day: its first interval of the DAG's schedule; or an instant, without an offset in UTC; default: now",
      dayOrInstant,
    )
    .option("-c, --conf <json>", "params: a JSON object, @file, or - for stdin", "{}")
    .option("--idempotency-key <key>", "the same key makes one run, however often it is sent")
    .option("-w, --wait", "wait until it has ended; the exit code says how")
    .option("--timeout <time>", "with --wait: give up after so long: seconds, or 90s, 10m, 2h", duration)
    .addHelpText(
      "after",
      `
With --wait its states go to stderr, and stdout has the run as it ended; Ctrl-C ends the waiting, not the run.
Ends with 0 when it succeeded, 1 when it failed or was cancelled, 6 when the time is over.

Examples:
  meridian dags trigger sales_daily --conf '{"region":"eu"}'
  meridian dags trigger sales_daily --logical-date 2026-05-09 --wait --timeout 30m`,
    )
    .action(async (dagId: string, options: TriggerOptions) => {
      if (options.timeout !== undefined && options.wait !== true)
        throw new UsageError("bad_option", "--timeout is for --wait");
      const conf = jsonObject("--conf", options.conf);
      const client = await connect(options);
      const run = await client.trigger(dagId, conf, {
        logicalDate: await dateOf(client, dagId, options.logicalDate),
        idempotencyKey: options.idempotencyKey,
      });
      if (options.wait === true) {
        say(options, `${run.dagId} ${run.runId}: made  ${pageOf(client, run)}`);
        await waitAndEnd(client, run.dagId, run.runId, options);
      } else if (options.output === "json") printJson(run);
      else if (options.quiet === true) console.log(run.runId);
      else {
        const { dagId: _, runId, state, ...rest } = run;
        printFields({ dagId, runId, state, page: pageOf(client, run), ...rest });
      }
    });
}

async function dateOf(client: Client, dagId: string, given: string | undefined): Promise<string | undefined> {
  return given !== undefined && isDay(given) ? isoOf(await startOf(client, dagId, given)) : given;
}
