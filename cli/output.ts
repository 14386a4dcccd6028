/** What commands print: on stdout what was asked for, and nothing else; on stderr words about it. */
import { type Command, Option } from "commander";
import { didYouMean } from "../core/suggest.ts";
import { UsageError } from "./failure.ts";
import { clean, colourOf, coloured, padded, tableLines, textOf } from "./table.ts";

type Format = "table" | "json";

export interface Output {
  readonly output: Format;
  readonly quiet?: boolean;
  readonly columns?: string;
}

/** A list as people read it: its columns by the names JSON has, those shown without `--columns`, and what names a row. */
export interface Table<Row> {
  readonly columns: Readonly<Record<string, (row: Row) => unknown>>;
  readonly shown: readonly string[];
  readonly id: (row: Row) => string;
}

export function withOutput(command: Command): Command {
  return command.addOption(
    new Option("-o, --output <format>", "table, or json as the API has it")
      .choices(["table", "json"])
      .default("table"),
  );
}

/** For a command that shows a list. */
export function withTable<Row>(command: Command, table: Table<Row>): Command {
  return withOutput(command)
    .option("-q, --quiet", "only ids, a line each, and no words beside them")
    .option(
      "--columns <names>",
      `columns of the table, with commas: ${Object.keys(table.columns).join(", ")}`,
    );
}

/** For a command that changes something. */
export function withQuiet(command: Command): Command {
  return withOutput(command).option("-q, --quiet", "no words about what was done");
}

export const printJson = (value: unknown): void => console.log(JSON.stringify(value, null, 2));

/** Words for whoever waits; `--quiet` keeps them back. */
export function say(options: Pick<Output, "quiet">, text: string): void {
  if (options.quiet !== true) console.error(text);
}

/** Before anything is asked for: a misspelt column costs nothing. */
export function columnsOf<Row>(table: Table<Row>, { output, columns }: Output): readonly string[] {
  if (columns === undefined) return table.shown;
  if (output === "json")
    throw new UsageError("bad_option", "--columns is for tables; JSON has every field: choose with jq");
  const known = Object.keys(table.columns);
  return columns.split(",").map((given) => {
    const name = given.trim();
    if (known.includes(name)) return name;
    const text = `--columns: there is no column "${name}"${didYouMean(name, known)}; expected some of ${known.join(", ")}`;
    throw new UsageError("bad_option", text);
  });
}

export function printList<Row>(rows: readonly Row[], table: Table<Row>, options: Output): void {
  const columns = columnsOf(table, options);
  if (options.output === "json") printJson(rows);
  else if (options.quiet === true && options.columns === undefined)
    for (const row of rows) console.log(clean(table.id(row)));
  else {
    const cells = rows.map((row) =>
      columns.map((name) => {
        const value = table.columns[name]!(row);
        const text = textOf(value);
        return { text, colour: colourOf(text) };
      }),
    );
    const [head, ...lines] = tableLines(columns, cells);
    if (options.quiet !== true) console.log(head);
    for (const line of lines) console.log(line);
  }
}

/** One thing, a field a line. */
export function printFields(fields: Readonly<Record<string, unknown>>): void {
  const width = Math.max(...Object.keys(fields).map((name) => name.length));
  for (const [name, value] of Object.entries(fields)) {
    const text = textOf(value);
    console.log(`${coloured(padded(name, width), "bold")}  ${coloured(text, colourOf(text))}`);
  }
}
