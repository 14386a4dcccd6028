import type { Command } from "commander";
import type { SettingInForce } from "../platform/config.ts";
import { Ended, EXIT } from "./failure.ts";
import { columnsOf, printList, withTable, type Output, type Table } from "./output.ts";

const SETTINGS: Table<SettingInForce> = {
  columns: {
    name: (one) => one.name,
    value: (one) => one.value,
    from: (one) => one.from,
    default: (one) => one.default,
    what: (one) => one.help,
    problem: (one) => one.problem,
  },
  shown: ["name", "value", "from", "what"],
  id: (one) => one.name,
};

export function configCommand(program: Command): void {
  withTable(program.command("config"), SETTINGS)
    .description("all settings (environment variables) with the value in force; secrets are masked")
    .option("--given", "only those that are given")
    .addHelpText(
      "after",
      "\nEnds with 2 when a setting is wrong or misspelt.\n\nExample:\n  meridian config --given",
    )
    .action(async (options: Output & { given?: true }) => {
      columnsOf(SETTINGS, options);
      const { settingsInForce } = await import("../platform/config.ts");
      const rows = settingsInForce();
      printList(
        options.given === true ? rows.filter(({ from }) => from === "environment") : rows,
        SETTINGS,
        options,
      );
      const problems = rows.flatMap(({ problem }) => problem ?? []);
      for (const problem of problems) console.error(`error: ${problem}`);
      if (problems.length > 0) throw new Ended(EXIT.usage);
    });
}
