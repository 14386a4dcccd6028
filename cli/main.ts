import { Command } from "commander";
import type { Config } from "../platform/config.ts";
import { completionCommand } from "./completion.ts";
import { configCommand } from "./config.ts";
import { dagCommands } from "./dags.ts";
import { dialCommands } from "./dial.ts";
import { fail } from "./failure.ts";
import { fileCommands } from "./files.ts";
import { limitsCommands } from "./limits.ts";
import { optionsLast } from "./option-order.ts";
import { poolCommands } from "./pools.ts";
import { profileCommands } from "./profile.ts";
import { addRunCommands } from "./commands.ts";
import { runCommands } from "./runs.ts";
import { taskCommands } from "./tasks.ts";
import { tenantCommands } from "./tenants.ts";
import { validateCommand } from "./validate.ts";
import { VERSION } from "./version.ts";
import { waitCommands } from "./waits.ts";

/** Loaded when they are wanted: Temporal's worker alone takes a second, and `dags list` needs none of it. */
const processes = async () => await import("./processes.ts");
const config = async (): Promise<Config> => (await import("../platform/config.ts")).readConfig();
const start = async (options: { readonly dev?: boolean } = {}): Promise<void> => {
  const given = await config();
  await (await import("./ports.ts")).refuseTakenPorts(given);
  await (await import("./start.ts")).start(given, options);
};

/** The command line; `argv` as the process got it. */
export async function main(argv: readonly string[]): Promise<void> {
  // `meridian dags list | head -1`: who has read enough has not failed us.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") process.exit(0);
      throw error;
    });
  }
  try {
    await createProgram().parseAsync([...argv.slice(0, 2), ...optionsLast(argv.slice(2))]);
  } catch (error) {
    fail(error);
  }
}

export function createProgram(): Command {
  const program = new Command("meridian")
    .description("Airflow's way of thinking, on Temporal, in TypeScript.")
    .version(VERSION)
    .showHelpAfterError("(more by --help)")
    .addHelpText(
      "after",
      `
Ends with 0 when all went well, 1 when what was asked for failed, 2 when it was called wrongly, 3 when something does
not exist, 4 when it was refused, 5 when the server cannot be reached, 6 when the time to wait was over.
Commands that talk to a server take --profile, --url, or the product that runs from the data folder.`,
    )
    // Thrown instead of ending at once: `fail` knows the exit codes. Commands made below inherit it.
    .exitOverride();
  program
    .command("start")
    .description(
      "the whole product in one process group: embedded PostgreSQL and Temporal, worker, processor, API, page",
    )
    .action(async () => await start());
  program
    .command("dev")
    .description("as start; tells what each save of a DAG file changed, or why it cannot be used")
    .action(async () => await start({ dev: true }));
  program
    .command("reset")
    .description("empty the data folder (embedded database, Temporal, logs)")
    .action(async () => await (await import("./reset.ts")).runReset(await config()));
  program
    .command("setup")
    .description("register search attributes and clock Schedules in the Temporal namespace")
    .action(async () => await (await processes()).runSetup(await config()));
  program
    .command("worker")
    .description("run tasks and workflows")
    .action(async () => await (await processes()).runWorker(await config()));
  program
    .command("api")
    .description("serve the API and the page")
    .action(async () => await (await processes()).runApi(await config()));
  program
    .command("processor")
    .description("watch the DAG folder and store versions")
    .action(async () => await (await processes()).runProcessor(await config()));
  configCommand(program);
  program
    .command("db")
    .description("the database")
    .command("migrate")
    .description("bring the schema up to date")
    .action(async () => await (await processes()).migrateDatabase(await config()));
  dagCommands(program);
  taskCommands(program);
  addRunCommands(runCommands(program));
  waitCommands(program);
  poolCommands(program);
  limitsCommands(program);
  tenantCommands(program);
  dialCommands(program);
  fileCommands(program);
  profileCommands(program);
  validateCommand(program);
  completionCommand(program);
  return program;
}
