import type { Command } from "commander";
import type { Pool, PoolHistory, PoolWorkItem } from "../api/contracts.ts";
import { NotFound } from "../core/errors.ts";
import { didYouMean } from "../core/suggest.ts";
import { connect, withServer, type ServerOptions } from "./connect.ts";
import {
  columnsOf,
  printFields,
  printJson,
  printList,
  withOutput,
  withQuiet,
  withTable,
  type Output,
  type Table,
} from "./output.ts";
import { whole } from "./read.ts";

type Options = Output & ServerOptions;

const seconds = (ms: number | null): string | null => (ms === null ? null : `${(ms / 1000).toFixed(1)} s`);

const POOLS: Table<Pool> = {
  columns: {
    name: (pool) => pool.name,
    slots: (pool) => (pool.exists ? pool.slots : null),
    used: (pool) => pool.used,
    free: (pool) => pool.free,
    waiting: (pool) => pool.waiting,
    waitingSlots: (pool) => pool.waitingSlots,
    longestWait: (pool) => seconds(pool.longestWaitMs),
    p95Wait: (pool) => seconds(pool.p95WaitMs),
    arrivalsPerMinute: (pool) => pool.arrivalsPerMinute,
    grantsPerMinute: (pool) => pool.grantsPerMinute,
    scheduledFloor: (pool) => pool.scheduledFloor,
    preempted: (pool) => pool.preempted,
    description: (pool) => pool.description,
    note: (pool) =>
      pool.exists
        ? pool.impossible.length > 0
          ? `${pool.impossible.length} can never run`
          : null
        : "nobody has made it",
  },
  shown: ["name", "slots", "used", "waiting", "longestWait", "description", "note"],
  id: (pool) => pool.name,
};

const CLASSES: Table<Pool["classes"][number]> = {
  columns: {
    class: (one) => one.class,
    used: (one) => one.used,
    waiting: (one) => one.waiting,
    arrivalsPerMinute: (one) => one.arrivalsPerMinute,
    grantsPerMinute: (one) => one.grantsPerMinute,
  },
  shown: ["class", "used", "waiting", "arrivalsPerMinute", "grantsPerMinute"],
  id: (one) => one.class,
};

const SAMPLES: Table<PoolHistory["samples"][number]> = {
  columns: {
    at: (sample) => sample.at,
    slots: (sample) => sample.slots,
    used: (sample) => sample.used,
    waiting: (sample) => sample.waiting,
    longestWait: (sample) => seconds(sample.longestWaitMs),
    p95Wait: (sample) => seconds(sample.p95WaitMs),
  },
  shown: ["at", "slots", "used", "waiting", "longestWait", "p95Wait"],
  id: (sample) => sample.at,
};

const WORK: Table<PoolWorkItem> = {
  columns: {
    dagId: (item) => item.dagId,
    runId: (item) => item.runId,
    taskId: (item) => (item.mapIndex < 0 ? item.taskId : `${item.taskId}[${item.mapIndex}]`),
    try: (item) => item.try,
    slots: (item) => item.slots,
    since: (item) => item.since,
    reason: (item) => item.reason,
  },
  shown: ["dagId", "runId", "taskId", "try", "slots", "since", "reason"],
  id: (item) => item.taskId,
};

const fieldsOf = (pool: Pool): Record<string, unknown> =>
  Object.fromEntries(Object.entries(POOLS.columns).map(([name, read]) => [name, read(pool)]));

/** `meridian pools …` */
export function poolCommands(program: Command): void {
  const pools = program.command("pools").description("pools: list, get, history, set, delete");
  withServer(withTable(pools.command("list"), POOLS))
    .description("pools with their slots and use")
    .addHelpText("after", "\nExample:\n  meridian pools list")
    .action(async (options: Options) => {
      columnsOf(POOLS, options);
      printList(await (await connect(options)).pools.list(), POOLS, options);
    });
  withServer(withOutput(pools.command("get <name>")))
    .description("a pool: who holds its slots, who waits and why")
    .addHelpText("after", "\nExample:\n  meridian pools get warehouse")
    .action(async (name: string, options: Options) => {
      const client = await connect(options);
      const all = await client.pools.list();
      const pool = all.find((one) => one.name === name);
      if (pool === undefined) {
        const names = all.map((one) => one.name);
        throw new NotFound("no_pool", `there is no pool "${name}"${didYouMean(name, names)}`);
      }
      if (options.output === "json") return printJson(pool);
      printFields(fieldsOf(pool));
      if (pool.classes.length > 0) {
        console.log("\nby priority class:");
        printList(pool.classes, CLASSES, { output: "table" });
      }
      const { holding, waiting } = await client.pools.work(name);
      for (const [title, items, columns] of [
        ["hold slots", holding, WORK.shown.filter((one) => one !== "reason")],
        ["wait", waiting, WORK.shown],
      ] as const) {
        if (items.length === 0) continue;
        console.log(`\n${title}:`);
        printList(items, WORK, { output: "table", columns: columns.join() });
      }
      for (const { reason, dagId, runId, taskId } of pool.impossible)
        console.log(`\n${dagId} ${runId} ${taskId}: ${reason}`);
    });
  withServer(withQuiet(pools.command("set <name>").argument("<slots>", "a whole number from 0", whole(0))))
    .description("make or resize a pool; what runs goes on")
    .option("--description <text>", "what it is for")
    .option(
      "--scheduled-floor <slots>",
      "slots that runs by hand cannot take; 0: they may take all",
      whole(0),
    )
    .addHelpText("after", '\nExample:\n  meridian pools set warehouse 8 --description "the big one"')
    .action(
      async (
        name: string,
        slots: number,
        options: Options & { description?: string; scheduledFloor?: number },
      ) => {
        const { description, scheduledFloor } = options;
        const pool = await (
          await connect(options)
        ).pools.set(name, {
          slots,
          ...(description !== undefined && { description }),
          ...(scheduledFloor !== undefined && { scheduledFloor }),
        });
        if (options.output === "json") printJson(pool);
        else if (options.quiet !== true) printFields(fieldsOf(pool));
      },
    );
  withServer(withTable(pools.command("history <name>"), SAMPLES))
    .description(
      "how full a pool was and how long it made wait, oldest first; in JSON what came and was granted, too",
    )
    .option("--minutes <n>", "the last so many, at most 10080", whole(1, 10_080), 60)
    .addHelpText("after", "\nExample:\n  meridian pools history warehouse --minutes 30")
    .action(async (name: string, options: Options & { minutes: number }) => {
      columnsOf(SAMPLES, options);
      const history = await (await connect(options)).pools.history(name, { minutes: options.minutes });
      if (options.output === "json") printJson(history);
      else printList(history.samples, SAMPLES, options);
    });
  withServer(withQuiet(pools.command("delete <name>")))
    .description("delete a pool that has no work")
    .addHelpText("after", "\nExample:\n  meridian pools delete warehouse")
    .action(async (name: string, options: Options) => {
      await (await connect(options)).pools.delete(name);
      if (options.output === "json") printJson({ name, deleted: true });
      else if (options.quiet !== true) console.log(`pool ${name} is deleted`);
    });
}
