/** What people ask of a run: checked against where it stands, performed by its rules, answered once. Pure. */
import type { RunPlan } from "./plan.ts";
import { reopened, type CommandAnswer, type Effect, type RunEvent, type RunProgress } from "./progress.ts";
import type { Remapped } from "./remap.ts";
import { step } from "./run.ts";
import { select, stateOf, type Selected, type Selection } from "./selection.ts";

export type RunCommand = { readonly id: string } & (
  | {
      readonly kind: "clear";
      readonly selection: Selection;
      /** Of its DAG, by which the run goes on; left out: its own. */
      readonly version?: number;
    }
  | {
      readonly kind: "mark";
      readonly as: "success" | "failed" | "skipped";
      readonly selection: Selection;
    }
  | { readonly kind: "end"; readonly as: "cancelled" | "failed"; readonly reason: string }
);

export type Commanded =
  | {
      readonly kind: "done";
      readonly progress: RunProgress;
      readonly effects: readonly Effect[];
      readonly answer: CommandAnswer;
    }
  /** The same command was done before. */
  | { readonly kind: "repeat"; readonly answer: CommandAnswer }
  | { readonly kind: "refused"; readonly code: string; readonly message: string };

/** So many answers are remembered: a command is repeated within seconds, after others that were done meanwhile. */
const REMEMBERED = 200;

/** What the command was answered when it was done before; undefined: it was not. */
export const answered = (progress: RunProgress, { id }: RunCommand): CommandAnswer | undefined =>
  progress.answers.find(([known]) => known === id)?.[1];

/** Of a command with another version. */
export const RUN_OPEN: Refusal = {
  code: "run_open",
  message:
    "it is under way with its own version, and tries of that are out: wait for its end, or end it, and then clear it with another version; or clear it with its own",
};

/** The last: the run is over, and `progress` is how it stands in the version that the command is done with. */
export function command(
  plan: RunPlan,
  progress: RunProgress,
  asked: RunCommand,
  { fresh, removed }: Pick<Remapped, "fresh" | "removed"> = NOT_REMAPPED,
): Commanded {
  const before = answered(progress, asked);
  if (before !== undefined) return { kind: "repeat", answer: before };
  const found = eventOf(plan, progress, asked, fresh);
  if ("code" in found) return { kind: "refused", ...found };
  const open = progress.state === "running" ? progress : reopened(progress);
  const next = step(plan, open, found.event);
  const answer = { cells: found.cells, ...(removed.length > 0 && { removed: removed.length }) };
  const answers = [...progress.answers, [asked.id, answer] as const].slice(-REMEMBERED);
  return { kind: "done", progress: { ...next.progress, answers }, effects: next.effects, answer };
}

type Found = { readonly event: RunEvent; readonly cells: number };
type Refusal = { readonly code: string; readonly message: string };

const NOT_REMAPPED = { fresh: [], removed: [] };

function eventOf(
  plan: RunPlan,
  progress: RunProgress,
  asked: RunCommand,
  fresh: readonly number[],
): Found | Refusal {
  if (asked.kind === "end") {
    if (progress.state !== "running")
      return { code: "run_closed", message: `the run is over already: it is ${progress.state}` };
    if (progress.ending !== null)
      return { code: "run_ending", message: `the run is being ended already: ${progress.ending.reason}` };
    return { event: { kind: "end", as: asked.as, reason: asked.reason }, cells: progress.open };
  }
  if (progress.state === "running" && progress.ending !== null) {
    const message = `the run is being ended (${progress.ending.reason}): wait for its end, then ${asked.kind} its tasks`;
    return { code: "run_ending", message };
  }
  const selected = select(plan, progress, asked.selection);
  if (selected.kind === "unknown") return { code: "no_task", message: unknownText(plan, selected) };
  const chosen = selected.cells.filter((at) => {
    const state = stateOf(progress, at);
    return asked.kind === "clear" ? state !== "none" : state !== asked.as;
  });
  const cells = [...chosen, ...fresh.map((task) => ({ task, index: -1 }))];
  if (cells.length === 0) {
    const message =
      asked.kind === "clear"
        ? "nothing to clear: none of these tasks has begun, or is in such a state"
        : `all of these tasks are ${asked.as} already`;
    return { code: "nothing_to_do", message };
  }
  const event: RunEvent =
    asked.kind === "clear" ? { kind: "clear", cells } : { kind: "mark", cells, as: asked.as };
  return { event, cells: cells.length };
}

/** What a selection named and the run does not have. */
export function unknownText(
  plan: RunPlan,
  { taskId, mapIndex }: Extract<Selected, { kind: "unknown" }>,
): string {
  return plan.positions.has(taskId)
    ? `task "${taskId}" has no instance ${mapIndex} in this run`
    : `this run has no task "${taskId}"`;
}
