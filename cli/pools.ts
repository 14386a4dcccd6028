import type { Command } from "commander";
import type { Pool, PoolWorkItem } from "../api/contracts.ts";
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

const POOLS: Table<Pool> = {
  columns: {
    name: (pool) => pool.name,
    slots: (pool) => (pool.exists ? pool.slots : null),
    used: (pool) => pool.used,
    free: (pool) => pool.free,
    waiting: (pool) => pool.waiting,
    waitingSlots: (pool) => pool.waitingSlots,
    description: (pool) => pool.description,
    note: (pool) =>
      pool.exists
        ? pool.impossible.length > 0
          ? `${pool.impossible.length} can never run`
          : null
        : "nobody has made it",
  },
  shown: ["name", "slots", "used", "waiting", "description", "note"],
  id: (pool) => pool.name,
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
  const pools = program.command("pools").description("pools: list, get, set, delete");
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
    .addHelpText("after", '\nExample:\n  meridian pools set warehouse 8 --description "the big one"')
    .action(async (name: string, slots: number, options: Options & { description?: string }) => {
      const { description } = options;
      const pool = await (
        await connect(options)
      ).pools.set(name, { slots, ...(description !== undefined && { description }) });
      if (options.output === "json") printJson(pool);
      else if (options.quiet !== true) printFields(fieldsOf(pool));
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
