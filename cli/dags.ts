import { type Command, Option } from "commander";
import type { DagSummary, DagVersion, ImportError, NextRuns, PauseState } from "../api/contracts.ts";
import { NotFound } from "../core/errors.ts";
import { RUN_STATES, type RunState } from "../core/states.ts";
import type { Client, DagFilter } from "../remote/index.ts";
import { connect, withServer, type ServerOptions } from "./connect.ts";
import { UsageError } from "./failure.ts";
import { addDagsTest } from "./local.ts";
import {
  columnsOf,
  printFields,
  printJson,
  printList,
  say,
  withOutput,
  withQuiet,
  withTable,
  type Output,
  type Table,
} from "./output.ts";
import { allByDefault, collect, limit, whole } from "./read.ts";
import { listRuns, withRunFilter, type RunListOptions } from "./runs.ts";
import { addTrigger } from "./trigger.ts";

type Options = Output & ServerOptions;

/** In one word: `on`, `paused`, or `gone` when no file defines it any more. */
const stateOf = (dag: DagSummary): string => (dag.active ? (dag.paused ? "paused" : "on") : "gone");

function noteOf(dag: DagSummary): string | null {
  const notes: string[] = [];
  if (dag.importError) notes.push("import error");
  if (dag.paused && (dag.pausedBy !== null || dag.pauseReason !== null)) {
    const by = dag.pausedBy === null ? "" : ` by ${dag.pausedBy}`;
    notes.push(`paused${by}${dag.pauseReason === null ? "" : `: ${dag.pauseReason}`}`);
  }
  return notes.join("; ") || null;
}

const DAGS: Table<DagSummary> = {
  columns: {
    dagId: (dag) => dag.dagId,
    schedule: (dag) => dag.schedule,
    state: stateOf,
    nextDueAt: (dag) => (stateOf(dag) === "on" ? dag.nextDueAt : null),
    lastRun: (dag) => dag.lastRuns.at(-1)?.state,
    lastRunId: (dag) => dag.lastRuns.at(-1)?.runId,
    owner: (dag) => dag.owner,
    tags: (dag) => dag.tags,
    version: (dag) => dag.version,
    description: (dag) => dag.description,
    note: noteOf,
  },
  shown: ["dagId", "schedule", "state", "nextDueAt", "lastRun", "owner", "note"],
  id: (dag) => dag.dagId,
};

const NEXT_RUNS: Table<NextRuns["runs"][number]> = {
  columns: {
    logicalDate: (run) => run.logicalDate,
    start: (run) => run.interval.start,
    end: (run) => run.interval.end,
    dueAt: (run) => run.dueAt,
  },
  shown: ["logicalDate", "start", "end", "dueAt"],
  id: (run) => run.logicalDate,
};

const IMPORT_ERRORS: Table<ImportError> = {
  columns: {
    file: (error) => error.file,
    // The error may stand in a module that the file imports.
    line: ({ file, line, place }) =>
      place === null || place.file === file ? line : `${place.file}:${place.line}`,
    code: (error) => error.code,
    checkedAt: (error) => error.checkedAt,
    dagIds: (error) => error.dagIds,
    message: (error) => error.message,
  },
  shown: ["file", "line", "code", "checkedAt", "message"],
  id: (error) => error.file,
};

/** `meridian dags …`: the names Airflow users know. */
export function dagCommands(program: Command): void {
  const dags = program.command("dags").description("DAGs: look, trigger, pause, compare, test");
  addList(dags);
  withServer(withOutput(dags.command("details <dag>")))
    .description("a DAG: schedule, state, owner, file, options, params, warnings")
    .addHelpText("after", "\nExample:\n  meridian dags details sales_daily")
    .action(async (dagId: string, options: Options) => {
      const dag = await (await connect(options)).dags.get(dagId);
      if (options.output === "json") return printJson(dag);
      const { graph } = dag;
      printFields({
        dagId: dag.dagId,
        description: dag.description,
        state: stateOf(dag),
        note: noteOf(dag),
        schedule: dag.schedule,
        nextDueAt: stateOf(dag) === "on" ? dag.nextDueAt : null,
        lastRuns: dag.lastRuns.toReversed().map((run) => `${run.runId} ${run.state}`),
        owner: dag.owner,
        tags: dag.tags,
        file: dag.file,
        version: dag.version,
        tasks: graph?.tasks.length,
        startDate: graph?.startDate,
        endDate: graph?.endDate,
        catchup: graph?.catchup,
        maxActiveRuns: graph?.maxActiveRuns,
        ...Object.fromEntries(dag.warnings.map((warning) => [`warning ${warning.code}`, warning.message])),
      });
      if (!graph?.params) return;
      const { PARAMS, paramsOf } = await import("./params-text.ts");
      console.log();
      printList(paramsOf(graph.params), PARAMS, { output: "table" });
    });
  addTrigger(dags);
  addPause(dags, "pause");
  addPause(dags, "unpause");
  withServer(withTable(dags.command("next-execution <dag>"), NEXT_RUNS))
    .description("the scheduled runs to come; none while it is paused")
    .option("-n, --num-executions <n>", "how many, 1 to 100", whole(1, 100), 1)
    .addHelpText("after", "\nExample:\n  meridian dags next-execution sales_daily -n 5")
    .action(async (dagId: string, options: Options & { numExecutions: number }) => {
      columnsOf(NEXT_RUNS, options);
      const client = await connect(options);
      const { runs } = await client.dags.nextRuns(dagId, { count: options.numExecutions });
      printList(runs, NEXT_RUNS, options);
      if (runs.length === 0) say(options, `no scheduled run of ${dagId} is to come`);
    });
  withRunFilter(dags.command("list-runs <dag>"))
    .description("runs of a DAG, newest first")
    .addHelpText("after", "\nExample:\n  meridian dags list-runs sales_daily --state failed --limit 5")
    .action(async (dagId: string, options: RunListOptions) => await listRuns(dagId, options));
  withServer(withTable(dags.command("list-import-errors"), IMPORT_ERRORS))
    .description("DAG files that cannot be imported; their last good version still runs")
    .addHelpText("after", "\nExample:\n  meridian dags list-import-errors --output json | jq -r '.[].stack'")
    .action(async (options: Options) => {
      columnsOf(IMPORT_ERRORS, options);
      const errors = await (await connect(options)).files.importErrors();
      printList(errors, IMPORT_ERRORS, options);
      if (errors.length === 0) say(options, "no import errors");
    });
  addShow(dags);
  addVersions(dags);
  addDagsTest(dags);
}

interface ListOptions extends Options {
  readonly search?: string;
  readonly tag?: readonly string[];
  readonly owner?: readonly string[];
  readonly state?: RunState;
  readonly paused?: true;
  readonly on?: true;
  readonly gone?: true;
  readonly importErrors?: true;
  readonly limit: number;
}

function addList(dags: Command): void {
  withServer(withTable(dags.command("list"), DAGS))
    .description("all DAGs with schedule, state and next run")
    .option("--search <text>", "part of an id or description")
    .option("--tag <name>", "with this tag; repeatable: with one of them", collect)
    .option("--owner <name>", "of this owner; repeatable: of one of them", collect)
    .addOption(new Option("--state <state>", "whose last run is in this state").choices(RUN_STATES))
    .option("--on", "only those that are on: neither paused nor gone")
    .option("--paused", "only paused ones")
    .option("--gone", "only those that no file defines any more")
    .option("--import-errors", "only those whose file cannot be imported now")
    .addOption(allByDefault())
    .addHelpText(
      "after",
      "\nExamples:\n  meridian dags list --tag sales --state failed\n  meridian dags list --quiet | xargs -n1 meridian dags pause",
    )
    .action(async (options: ListOptions) => {
      columnsOf(DAGS, options);
      if ([options.on, options.paused, options.gone].filter(Boolean).length > 1)
        throw new UsageError("bad_option", "--on, --paused and --gone exclude each other: give one of them");
      const filter: DagFilter = {
        search: options.search,
        tag: options.tag,
        owner: options.owner,
        state: options.state,
        paused: options.paused ?? (options.on ? false : undefined),
        active: options.gone ? false : options.on || options.paused ? true : undefined,
        importError: options.importErrors,
        limit: Math.min(options.limit, 1000),
      };
      const list = (await connect(options)).dags.list(filter);
      printList(await list.all(options.limit), DAGS, options);
    });
}

function addPause(dags: Command, action: "pause" | "unpause"): void {
  const command = withServer(withQuiet(dags.command(`${action} <dag>`))).description(
    action === "pause"
      ? "create no more runs by schedule; what runs goes on"
      : "create runs by schedule again, and at once what is due",
  );
  if (action === "pause") command.option("--reason <text>", "why, shown beside the DAG");
  command
    .addHelpText(
      "after",
      action === "pause"
        ? '\nExample:\n  meridian dags pause sales_daily --reason "the source is away"'
        : "\nExample:\n  meridian dags unpause sales_daily",
    )
    .action(async (dagId: string, options: Options & { reason?: string }) => {
      const client = await connect(options);
      const state: PauseState =
        action === "pause"
          ? await client.dags.pause(dagId, { reason: options.reason })
          : await client.dags.unpause(dagId);
      if (options.output === "json") printJson(state);
      else if (options.quiet !== true) console.log(`${dagId} is ${state.paused ? "paused" : "on"}`);
    });
}

function addShow(dags: Command): void {
  withServer(withOutput(dags.command("show <dag>")))
    .description("the tasks in the order they run, their groups, and what each waits for")
    .option("--version <n>", "of this version; default: the current one", whole(1))
    .addHelpText("after", "\nExample:\n  meridian dags show sales_daily")
    .action(async (dagId: string, options: Options & { version?: number }) => {
      const client = await connect(options);
      const graph =
        options.version === undefined
          ? (await client.dags.get(dagId)).graph
          : (await client.dags.version(dagId, options.version)).graph;
      if (options.output === "json") return printJson(graph);
      const { graphLines } = await import("./graph-text.ts");
      for (const line of graph === null ? [`${dagId} has no version yet`] : graphLines(graph))
        console.log(line);
    });
}

function addVersions(dags: Command): void {
  const table: Table<DagVersion> = {
    columns: {
      number: (version) => version.number,
      inForce: (version) => (version.current ? "yes" : null),
      createdAt: (version) => version.createdAt,
      hash: (version) => version.hash.slice(0, 12),
      file: (version) => version.file,
    },
    shown: ["number", "inForce", "createdAt", "hash", "file"],
    id: (version) => String(version.number),
  };
  withServer(withTable(dags.command("versions <dag>"), table))
    .description("versions of a DAG, newest first, and which one is in force")
    .option("--limit <n>", "how many, or all", limit, 25)
    .addHelpText("after", "\nExample:\n  meridian dags versions sales_daily")
    .action(async (dagId: string, options: Options & { limit: number }) => {
      columnsOf(table, options);
      const list = (await connect(options)).dags.versions(dagId, {
        limit: Math.min(options.limit + 1, 1000),
      });
      const found = await list.all(options.limit + 1);
      printList(found.slice(0, options.limit), table, options);
      if (found.length > options.limit) say(options, `older ones are left out: --limit ${options.limit}`);
    });
  withServer(withOutput(dags.command("diff <dag> [from] [to]")))
    .description(
      "what changed from one version to another; default: from the one in force before to the one in force",
    )
    .addHelpText(
      "after",
      "\nExamples:\n  meridian dags diff sales_daily\n  meridian dags diff sales_daily 3 5",
    )
    .action(async (dagId: string, from: string | undefined, to: string | undefined, options: Options) => {
      const client = await connect(options);
      const [before, after] =
        from !== undefined && to !== undefined
          ? [number(from), number(to)]
          : await pairInForce(client, dagId, from);
      const diff = await client.dags.diff(dagId, before, after);
      if (options.output === "json") return printJson(diff);
      const { diffLines } = await import("./diff-text.ts");
      for (const line of diffLines(diff)) console.log(line);
    });

  const number = (text: string): number => {
    if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
    throw new UsageError("bad_version", `version ${JSON.stringify(text)}: expected a whole number from 1`);
  };

  async function pairInForce(
    client: Client,
    dagId: string,
    from: string | undefined,
  ): Promise<[before: number, after: number]> {
    const given = from === undefined ? undefined : number(from);
    const { version, versionBefore } = await client.dags.get(dagId);
    if (version === null) throw new NotFound("no_version", `dag "${dagId}" has no version yet`);
    const before = given ?? versionBefore;
    if (before !== null) return [before, version];
    throw new NotFound(
      "one_version",
      `dag "${dagId}" has had one version only, ${version}: there is nothing to compare`,
    );
  }
}
