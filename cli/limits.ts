import { readFileSync } from "node:fs";
import type { Command } from "commander";
import type { LimitsChange, LimitsPlan } from "../api/contracts-limits.ts";
import { connect, withServer, type ServerOptions } from "./connect.ts";
import { Ended, UsageError } from "./failure.ts";
import { printJson, printList, withOutput, withQuiet, type Output, type Table } from "./output.ts";
import { cleanLines } from "./table.ts";

type Options = Output & ServerOptions;

/** What `plan --exit-code` ends with when there is something to change. */
const CHANGES = 2;

const TABLE: Table<LimitsChange> = {
  columns: {
    change: ({ before, after }) => (before === null ? "new" : after === null ? "gone" : "changed"),
    what: ({ what }) => what,
    name: ({ name }) => name,
    before: ({ before }) => before,
    after: ({ after }) => after,
  },
  shown: ["change", "what", "name", "before", "after"],
  id: ({ what, name }) => `${what} ${name}`,
};

/** `meridian limits …` */
export function limitsCommands(program: Command): void {
  const limits = program
    .command("limits")
    .description("the limits file, which gives DAGs and callers their tenant and priority class");
  withServer(withOutput(limits.command("show")))
    .description("the limits file in force, as YAML that can be applied again")
    .addHelpText("after", "\nExample:\n  meridian limits show > limits.yaml")
    .action(async (options: Options) => {
      const now = await (await connect(options)).limits.get();
      if (options.output === "json") return printJson(now);
      if (now.file === null) return console.log("# no limits file has been applied yet\n{}");
      const { stringify } = await import("yaml");
      console.log(
        `# ${now.id}, applied by ${now.who} at ${now.at}\n${cleanLines(stringify(now.file))}`.trimEnd(),
      );
    });
  withServer(withOutput(limits.command("plan <file>")))
    .description("what a limits file would change; - reads it from stdin. Changes nothing")
    .option("--exit-code", `end with ${CHANGES} when it would change something, and with 0 when not`)
    .addHelpText(
      "after",
      "\nExamples:\n  meridian limits plan limits.yaml\n  meridian limits plan limits.yaml --exit-code || echo 'not applied yet'",
    )
    .action(async (path: string, options: Options & { readonly exitCode?: boolean }) => {
      const plan = await (await connect(options)).limits.plan(textOf(path));
      if (options.output === "json") printJson(plan);
      else {
        printPlan(plan, options);
        console.log(
          plan.changed
            ? `apply it with: meridian limits apply ${path} --if-current ${plan.current ?? "none"}`
            : "it is in force as it is",
        );
      }
      if (options.exitCode === true && plan.changed) throw new Ended(CHANGES);
    });
  withServer(withQuiet(limits.command("apply <file>")))
    .description("put a limits file in force, all of it or nothing; - reads it from stdin")
    .option(
      "--if-current <id>",
      "only if these limits are in force, as the plan said, or none; else it is refused",
      currentId,
    )
    .addHelpText("after", "\nExample:\n  meridian limits apply limits.yaml --if-current 7")
    .action(async (path: string, options: Options & { readonly ifCurrent?: CurrentId }) => {
      const { ifCurrent } = options;
      const more = ifCurrent === undefined ? {} : { ifCurrent: ifCurrent.id };
      const done = await (await connect(options)).limits.apply(textOf(path), more);
      if (options.output === "json") return printJson(done);
      if (options.quiet === true) return;
      printPlan(done, options);
      console.log(done.changed ? `in force as ${done.id}` : "it is in force as it was; nothing was written");
    });
}

function printPlan(
  { changes, dags, runs }: Pick<LimitsPlan, "changes" | "dags" | "runs">,
  options: Output,
): void {
  if (changes.length > 0) printList(changes, TABLE, options);
  const listed = changes.filter(({ what }) => what === "dag").length;
  const more = dags > listed ? `, of which ${listed} are listed` : "";
  if (dags + runs > 0)
    console.log(`\nanother tenant or class: ${dags} DAGs${more}; ${runs} runs that wait or run\n`);
}

/** In an object, since an option that is null counts as not given. */
interface CurrentId {
  readonly id: number | null;
}

function currentId(text: string): CurrentId {
  if (text === "none") return { id: null };
  if (/^[1-9]\d{0,14}$/.test(text)) return { id: Number(text) };
  throw new UsageError(
    "bad_option",
    `--if-current ${text}: expected a number, as \`limits plan\` said it, or none`,
  );
}

function textOf(path: string): string {
  try {
    return readFileSync(path === "-" ? 0 : path, "utf8");
  } catch (error) {
    throw new UsageError("bad_input", `${path}: ${(error as Error).message}`, { cause: error });
  }
}
