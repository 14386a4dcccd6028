import type { Command } from "commander";
import type { DagFile } from "../api/contracts.ts";
import { connect, withServer, type ServerOptions } from "./connect.ts";
import { columnsOf, printList, withTable, type Output, type Table } from "./output.ts";
import { allByDefault } from "./read.ts";

const FILES: Table<DagFile> = {
  columns: {
    file: (one) => one.file,
    dagIds: (one) => one.dagIds,
    checkedAt: (one) => one.checkedAt,
    storedAt: (one) => one.storedAt,
    importMs: (one) => one.importMs,
    queueMs: (one) => one.queueMs,
    error: (one) => one.error?.message,
    warnings: (one) => one.warnings.map((warning) => warning.message),
  },
  shown: ["file", "dagIds", "checkedAt", "storedAt", "importMs", "error"],
  id: (one) => one.file,
};

interface Options extends Output, ServerOptions {
  readonly search?: string;
  readonly errors?: true;
  readonly limit: number;
}

/** `meridian files …` */
export function fileCommands(program: Command): void {
  const files = program.command("files").description("DAG files as the processor last saw them");
  withServer(withTable(files.command("list"), FILES))
    .description("DAG files: when each was looked at and stored, how long that took, what is wrong")
    .option("--search <text>", "part of a path or of a DAG's id")
    .option("--errors", "only files that cannot be imported")
    .addOption(allByDefault())
    .addHelpText("after", "\nExample:\n  meridian files list --errors")
    .action(async (options: Options) => {
      columnsOf(FILES, options);
      const filter = {
        search: options.search,
        withError: options.errors,
        limit: Math.min(options.limit, 1000),
      };
      const list = (await connect(options)).files.list(filter);
      printList(await list.all(options.limit), FILES, options);
    });
}
