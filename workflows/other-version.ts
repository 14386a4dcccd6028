import type { CancellationScope } from "@temporalio/workflow";
import { planOf } from "../core/plan.ts";
import { RUN_OPEN } from "../core/run-command.ts";
import type { AskedCommand } from "./commands.ts";
import { short } from "./short-activity.ts";
import type { Turns } from "./turns.ts";

/**
 * The turns of the run in the version that a command asks for, mostly its own; null: it is refused. A run under way has
 * tries of its version out, so it keeps that until its end.
 */
export async function inItsVersion(
  turns: Turns,
  { command, refuse }: AskedCommand,
  calls: CancellationScope,
): Promise<Turns | null> {
  const version = command.kind === "clear" ? command.version : undefined;
  if (version === undefined || version === turns.version || turns.hasDone(command)) return turns;
  if (turns.open) {
    refuse(RUN_OPEN.code, RUN_OPEN.message);
    return null;
  }
  const opened = await calls.run(() => short.openVersion({ run: turns.run, version }));
  if (opened.kind === "refused") {
    refuse(opened.code, opened.message);
    return null;
  }
  return turns.inVersion(planOf(opened.graph), opened.info);
}
