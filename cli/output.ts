import type { Command } from "commander";
import { MeridianError, Refused } from "../core/errors.ts";

export type Format = "table" | "json";

export interface Output {
  readonly output: Format;
}

export function withOutput(command: Command): Command {
  return command.option(
    "--output <format>",
    "table or json",
    (value) => {
      if (value !== "table" && value !== "json")
        throw new Refused("bad_option", `--output ${value}: expected table or json`);
      return value;
    },
    "table",
  );
}

/** Rows as an aligned table, or as JSON for programs. */
export function printRows(rows: readonly object[], format: Format, columns: readonly string[]): void {
  if (format === "json") {
    console.log(JSON.stringify(rows, null, 2));
    return;
  }
  const cells = rows.map((row) => columns.map((column) => textOf((row as Record<string, unknown>)[column])));
  const widths = columns.map((column, i) => Math.max(column.length, ...cells.map((cell) => cell[i]!.length)));
  const line = (values: readonly string[]): string =>
    values
      .map((value, i) => value.padEnd(widths[i]!))
      .join("  ")
      .trimEnd();
  console.log(line(columns));
  for (const row of cells) console.log(line(row));
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return "-";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** One clear line on stderr, and the exit code: 1 for what the caller can change, 2 for what went wrong inside. */
export function fail(error: unknown): never {
  if (error instanceof MeridianError) {
    console.error(`error: ${error.message}`);
    process.exit(1);
  }
  console.error(error);
  process.exit(2);
}
