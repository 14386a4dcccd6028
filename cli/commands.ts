/** What is asked of runs: tasks cleared and marked, runs ended. */
import { Option, type Command } from "commander";
import type { CommandDone, RunsCleared } from "../api/contracts-commands.ts";
import type { CellSelection, ClearSelection } from "../remote/index.ts";
import { called } from "./call.ts";
import { connect, withServer, type ServerOptions } from "./connect.ts";
import { UsageError } from "./failure.ts";
import { printJson, printList, withOutput, type Output, type Table } from "./output.ts";
import { collect, instant, integer, whole } from "./read.ts";
import { ofRun, runIdOf } from "./runs.ts";

interface SelectOptions extends Output, ServerOptions {
  readonly task?: readonly string[];
  readonly group?: readonly string[];
  readonly mapIndex?: number;
  readonly all?: boolean;
  readonly upstream?: boolean;
  readonly downstream?: boolean;
  readonly onlyFailed?: boolean;
  readonly dryRun?: boolean;
}

interface ClearOptions extends SelectOptions {
  readonly latestVersion?: boolean;
  readonly startDate?: string;
  readonly endDate?: string;
}

const RUNS: Table<RunsCleared["runs"][number]> = {
  columns: {
    runId: (run) => run.runId,
    changed: (run) => run.changed,
    refused: (run) => run.refused?.message ?? null,
  },
  shown: ["runId", "changed", "refused"],
  id: (run) => run.runId,
};

const CELLS: Table<CommandDone["cells"][number]> = {
  columns: {
    taskId: (cell) => cell.taskId,
    mapIndex: (cell) => (cell.mapIndex < 0 ? null : cell.mapIndex),
    state: (cell) => cell.state,
    try: (cell) => cell.try,
    change: (cell) => cell.change,
  },
  shown: ["taskId", "mapIndex", "state", "try"],
  id: (cell) => (cell.mapIndex < 0 ? cell.taskId : `${cell.taskId}[${cell.mapIndex}]`),
};

const withSelection = (command: Command): Command =>
  withServer(withOutput(ofRun(command)))
    .option("-t, --task <task>", "a task; repeatable", collect)
    .option("-g, --group <group>", "all tasks of a group; repeatable", collect)
    .option("--map-index <n>", "which instance of the mapped task", whole(0))
    .option("--all", "all tasks of the run")
    .option("-u, --upstream", "what they wait for, too")
    .option("-d, --downstream", "what waits for them, too")
    .option("-f, --only-failed", "only what failed or could not run")
    .option("--dry-run", "only show which tasks it would be");

/** `tasks clear` and `tasks mark`. */
export function addTaskCommands(tasks: Command): void {
  withSelection(tasks.command("clear"))
    .description("run tasks of a run again, while it goes on or after its end")
    .addHelpText(
      "after",
      "\nExamples:\n  meridian tasks clear sales_daily 2026-05-09 --task load --downstream\n  meridian tasks clear sales_daily --only-failed --dry-run\n  meridian tasks clear sales_daily --only-failed --latest-version\n  meridian tasks clear sales_daily --all --start-date 2026-05-01 --end-date 2026-05-10",
    )
    .option(
      "--start-date <date>",
      "instead of one run: all runs with logical dates from this day or instant on (UTC)",
      instant,
    )
    .option("--end-date <date>", "… and before this one", instant)
    .option("--latest-version", "with the version of the DAG that is in force, which the run then has")
    .action(async (dagId: string, text: string | undefined, options: ClearOptions) => {
      const version = options.latestVersion === true ? "latest" : "original";
      const cells = { ...cellsOf(options), version } satisfies ClearSelection;
      if (options.startDate !== undefined || options.endDate !== undefined)
        return await clearRange(dagId, text, cells, options);
      const client = await connect(options);
      const runId = await runIdOf(client, dagId, text);
      print(await client.runs.clear(dagId, runId, cells), "to be run again", options);
    });
  withSelection(tasks.command("mark"))
    .description("count tasks of a run as success, failed or skipped; what runs of them is stopped")
    .addOption(
      new Option("--as <state>", "what they count as")
        .choices(["success", "failed", "skipped"])
        .makeOptionMandatory(),
    )
    .addHelpText("after", "\nExample:\n  meridian tasks mark sales_daily 2026-05-09 --task load --as success")
    .action(
      async (
        dagId: string,
        text: string | undefined,
        options: SelectOptions & { as: "success" | "failed" | "skipped" },
      ) => {
        const cells = cellsOf(options);
        const client = await connect(options);
        const runId = await runIdOf(client, dagId, text);
        print(await client.runs.mark(dagId, runId, options.as, cells), `marked ${options.as}`, options);
      },
    );
}

/** `runs end` and `runs priority`. */
export function addRunCommands(runs: Command): void {
  addPriority(runs);
  withServer(withOutput(ofRun(runs.command("end"))))
    .description("end a run before its time; teardowns whose setups succeeded still run")
    .addOption(
      new Option("--as <state>", "what it ends as").choices(["cancelled", "failed"]).default("cancelled"),
    )
    .option("--reason <text>", "why; others see it")
    .addHelpText(
      "after",
      '\nExample:\n  meridian runs end sales_daily latest --as failed --reason "wrong source"',
    )
    .action(
      async (
        dagId: string,
        text: string | undefined,
        options: Output & ServerOptions & { as: "cancelled" | "failed"; reason?: string },
      ) => {
        const client = await connect(options);
        const runId = await runIdOf(client, dagId, text);
        const { as, reason } = options;
        const done = await client.runs.end(dagId, runId, { as, reason });
        if (options.output === "json") printJson(done);
        else console.log(`${dagId} ${runId} is being ended as ${as}`);
      },
    );
}

function addPriority(runs: Command): void {
  withServer(withOutput(ofRun(runs.command("priority"))))
    .description("move a run that waits, and all that it asks for later, before or behind others")
    .requiredOption(
      "--priority <n>",
      "added to what its place and its tries ask with; 0: as it was made",
      integer,
    )
    .addHelpText("after", "\nExample:\n  meridian runs priority sales_daily 2026-05-09 --priority 100")
    .action(
      async (
        dagId: string,
        text: string | undefined,
        options: Output & ServerOptions & { priority: number },
      ) => {
        const client = await connect(options);
        const done = await client.runs.priority(dagId, await runIdOf(client, dagId, text), options.priority);
        if (options.output === "json") printJson(done);
        else
          console.log(
            `${dagId} ${done.runId} has priority ${done.priority}; requests that moved: ${done.moved}`,
          );
      },
    );
}

async function clearRange(
  dagId: string,
  text: string | undefined,
  cells: ClearSelection,
  options: ClearOptions,
): Promise<void> {
  const { startDate: from, endDate: until } = options;
  if (text !== undefined || from === undefined || until === undefined) {
    throw new UsageError("bad_option", "for a range of runs give --start-date and --end-date, and no run");
  }
  const done = await (await connect(options)).runs.clearRange(dagId, { from, until }, cells);
  if (options.output === "json") return printJson(done);
  printList(done.runs, RUNS, options);
  const changed = done.runs.filter((run) => run.changed > 0).length;
  console.log(
    `\n${changed} of ${done.runs.length} runs of ${dagId} ${done.dryRun ? "would run" : "run"} again`,
  );
}

function cellsOf(options: SelectOptions): CellSelection {
  const { task = [], group = [], mapIndex, all, upstream, downstream, onlyFailed, dryRun } = options;
  if (task.length + group.length === 0 && all !== true && onlyFailed !== true) {
    throw new UsageError(
      "nothing_named",
      "name the tasks: --task, --group, --only-failed, or --all for the whole run",
    );
  }
  if (mapIndex !== undefined && task.length !== 1)
    throw new UsageError(
      "bad_option",
      "--map-index says which instance of one task: give exactly one --task",
    );
  return {
    tasks: task.map((taskId) => ({ taskId, ...(mapIndex !== undefined && { mapIndex }) })),
    groups: group,
    upstream,
    downstream,
    onlyFailed,
    dryRun,
  };
}

function print(done: CommandDone, what: string, options: SelectOptions): void {
  if (options.output === "json") return printJson(done);
  const changes = done.cells.some(({ change }) => change !== null);
  if (done.dryRun)
    printList(done.cells, changes ? { ...CELLS, shown: [...CELLS.shown, "change"] } : CELLS, options);
  const count = `${done.changed} ${done.changed === 1 ? "task" : "tasks"}`;
  const removed = done.removed === 0 ? "" : `; ${done.removed} no longer in the DAG: removed`;
  const { dagId, runId } = done;
  if (done.dryRun)
    console.log(`\n${count} of ${dagId} ${runId} would be ${what.replace("to be ", "")}${removed}`);
  else
    console.log(`${count} of ${dagId} ${runId}: ${what}${removed}\n${called(`runs show ${dagId} ${runId}`)}`);
}
