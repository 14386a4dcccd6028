import type { Command } from "commander";
import { checkRequestedId } from "../core/ids.ts";
import { Refused } from "../core/errors.ts";
import { readConfig } from "../platform/config.ts";
import { apiClient } from "./api-url.ts";
import { printRows, withOutput, type Output } from "./output.ts";

const COLUMNS = ["name", "slots", "used", "waiting", "description"];

/** `meridian pools …` */
export function poolCommands(program: Command): void {
  const pools = program.command("pools").description("pools: list, set, delete");
  withOutput(pools.command("list").description("pools with their slots and use")).action(
    async ({ output }: Output) => {
      const { pools: all } = await (await apiClient(readConfig()).pools.$get()).json();
      printRows(all, output, COLUMNS);
    },
  );
  withOutput(pools.command("set <name> <slots>").description("make or resize a pool; what runs goes on"))
    .option("--description <text>", "what it is for")
    .action(
      async (pool: string, slots: string, { output, description }: Output & { description?: string }) => {
        const param = { name: checkRequestedId("pool", pool) };
        const json = { slots: wholeNumber(slots), ...(description === undefined ? {} : { description }) };
        const made = await (await apiClient(readConfig()).pools[":name"].$post({ param, json })).json();
        printRows([made], output, COLUMNS);
      },
    );
  pools
    .command("delete <name>")
    .description("delete a pool that has no work")
    .action(async (pool: string) => {
      const param = { name: checkRequestedId("pool", pool) };
      await apiClient(readConfig()).pools[":name"].$delete({ param });
      console.log(`pool ${pool} is deleted`);
    });
}

function wholeNumber(text: string): number {
  const slots = Number(text);
  if (text.trim() !== "" && Number.isInteger(slots) && slots >= 0) return slots;
  throw new Refused("bad_slots", `slots ${JSON.stringify(text)}: expected a whole number from 0`);
}
