/** The emergency dial: one bound over all pools, in force at once. */
import { type Command, Option } from "commander";
import type { DialState, DialTurn, DialTurned } from "../api/contracts-dial.ts";
import type { DialWish } from "../remote/index.ts";
import { connect, withServer, type ServerOptions } from "./connect.ts";
import { UsageError } from "./failure.ts";
import {
  printFields,
  printJson,
  printList,
  withOutput,
  withQuiet,
  type Output,
  type Table,
} from "./output.ts";
import { integer, whole } from "./read.ts";

type Options = Output & ServerOptions;

const boundsInWords = ({ tries, belowClass, belowPriority }: DialTurn): string =>
  [
    ...(tries === null ? [] : [`${tries} ${tries === 1 ? "try" : "tries"} at once`]),
    ...(belowClass === null ? [] : [`nothing below class ${belowClass}`]),
    ...(belowPriority === null ? [] : [`nothing below priority ${belowPriority}`]),
  ].join(", ") || "off";

const TURNS: Table<DialTurn> = {
  columns: {
    at: (turn) => turn.at,
    who: (turn) => turn.who,
    bounds: boundsInWords,
    reason: (turn) => turn.reason,
  },
  shown: ["at", "who", "bounds", "reason"],
  id: (turn) => String(turn.id),
};

function printState({ inForce, turns }: DialState): void {
  if (inForce === null) console.log("the emergency dial is off");
  else
    printFields({
      bounds: boundsInWords(inForce),
      who: inForce.who,
      reason: inForce.reason,
      since: inForce.at,
      running: inForce.running,
      held: inForce.held,
    });
  if (turns.length === 0) return;
  console.log("\nlast turns:");
  printList(turns, TURNS, { output: "table" });
}

function printTurned(done: DialTurned, options: Options): void {
  if (options.output === "json") return printJson(done);
  if (options.quiet === true) return;
  const { inForce, preempted } = done;
  if (inForce === null) console.log("the emergency dial is off");
  else
    console.log(
      `the emergency dial is in force: ${boundsInWords(inForce)}; ${inForce.running} running, ${inForce.held} held back`,
    );
  if (preempted > 0) console.log(`tries that were asked to give their slots back: ${preempted}`);
}

/** `meridian dial …` */
export function dialCommands(program: Command): void {
  const dial = program.command("dial").description("the emergency dial: show, set, off, undo");
  withServer(withOutput(dial.command("show")))
    .description("whether it is in force, what it holds back, and its last turns")
    .addHelpText("after", "\nExample:\n  meridian dial show")
    .action(async (options: Options) => {
      const state = await (await connect(options)).dial.show();
      if (options.output === "json") printJson(state);
      else printState(state);
    });
  addSet(dial);
  withServer(withQuiet(dial.command("off")))
    .description("lift it: what waits for it begins at once")
    .requiredOption("--reason <text>", "why; everybody sees it")
    .addHelpText("after", '\nExample:\n  meridian dial off --reason "the warehouse is back"')
    .action(async (options: Options & { reason: string }) =>
      printTurned(await (await connect(options)).dial.off(options.reason), options),
    );
  withServer(withQuiet(dial.command("undo")))
    .description("bring back what was in force before its last turn")
    .addHelpText("after", "\nExample:\n  meridian dial undo")
    .action(async (options: Options) => printTurned(await (await connect(options)).dial.undo(), options));
}

function addSet(dial: Command): void {
  withServer(withQuiet(dial.command("set")))
    .description("bound what begins from now on, over all pools; what runs goes on, but with --preempt")
    .option("--tries <n>", "so many tries at once", whole(0))
    .addOption(
      new Option("--below-class <class>", "what is of a lower priority class waits").choices([
        "standard",
        "critical",
      ]),
    )
    .option("--below-priority <n>", "what asks with less waits", integer)
    .requiredOption("--reason <text>", "why; everybody sees it")
    .option(
      "--preempt",
      "tries under way that it would not let begin give their slots back and run again later",
    )
    .addHelpText(
      "after",
      '\nExamples:\n  meridian dial set --tries 20 --reason "the warehouse is slow"\n  meridian dial set --below-class critical --preempt --reason "month end first"',
    )
    .action(async (options: Options & DialWish) => {
      const { tries, belowClass, belowPriority, reason, preempt } = options;
      if (tries === undefined && belowClass === undefined && belowPriority === undefined)
        throw new UsageError(
          "bad_option",
          "say at least one of --tries, --below-class, --below-priority; `dial off` lifts it",
        );
      const wish = { tries, belowClass, belowPriority, reason, preempt };
      printTurned(await (await connect(options)).dial.set(wish), options);
    });
}
