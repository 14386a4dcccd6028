import {
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  setHandler,
  sleep,
} from "@temporalio/workflow";
import { RUNS_QUEUE } from "../core/not-begun.ts";
import {
  partSignal,
  stopSignal,
  triesSignal,
  type PartEnd,
  type PartInput,
  type PartTries,
} from "./messages.ts";
import { pieceOf } from "./pieces.ts";
import { runTry, tryKey } from "./try-activity.ts";
import { outcomeOfFailure } from "./try-outcome.ts";

/** Ends within so long of each other go together: the run may hear 10,000 signals. The last ones do not wait. */
const GATHER_MS = 250;

/** Rests between attempts to tell a run that does not hear; then it is gone, and so is what this is for. */
const PATIENCE = ["1s", "2s", "4s", "8s"] as const;

/**
 * A part of a run: tries that have their slots, run as the run itself would, and their ends told to it. The run may go on in
 * a new execution meanwhile. A cancel stops the bodies, but for those of teardowns. It ends when all its tries have
 * ended and are told.
 */
export async function runPart(input: PartInput): Promise<void> {
  const { workflowId, part, info } = input;
  const ends: PartEnd[] = [];
  let open = 0;
  // A cancel of the workflow reaches what runs in here, and nothing that runs in `calls`.
  const bodies = new CancellationScope({ cancellable: true });
  const calls = new CancellationScope({ cancellable: false });

  /** Tries that can be stopped one by one. */
  const own = new Map<string, CancellationScope>();

  const begin = ({ tasks, tries }: PartTries): void => {
    open += tries.length;
    for (const [position, index, number, given] of tries) {
      const task = tasks[position]!;
      const key = tryKey({ task: position, index, try: number });
      const end = (outcome: PartEnd[3], granted: readonly string[]): void => {
        open -= 1;
        own.delete(key);
        ends.push([position, index, number, outcome, granted, given.resumed?.wait ?? 0]);
      };
      const around = task.isTeardown ? calls : bodies;
      // In a scope of its own where nobody may ever take it up (`Tries`).
      const scope =
        task.queue === RUNS_QUEUE ? around : new CancellationScope({ cancellable: true, parent: around });
      if (scope !== around) own.set(key, scope);
      scope
        .run(() => runTry(info, task, { index, try: number }, given))
        .then(
          ({ outcome, granted }) => end(outcome, granted),
          (error: unknown) => end(outcomeOfFailure(error), []),
        );
    }
  };

  /** False: there is nobody to tell. */
  const tell = async (told: readonly PartEnd[]): Promise<boolean> => {
    for (const rest of [...PATIENCE, null]) {
      try {
        await getExternalWorkflowHandle(workflowId).signal(partSignal, {
          part,
          ends: told,
          version: info.version,
        });
        return true;
      } catch {
        if (rest !== null) await sleep(rest);
      }
    }
    return false;
  };

  setHandler(triesSignal, begin);
  setHandler(stopSignal, (task, index, number) => own.get(tryKey({ task, index, try: number }))?.cancel());
  await calls.run(async () => {
    begin(input);
    let isHeard = true;
    while (open > 0 || ends.length > 0) {
      await condition(() => ends.length > 0);
      if (open > 0) await sleep(GATHER_MS);
      const told = ends.splice(
        0,
        pieceOf(ends, ([, , , outcome]) => outcome),
      );
      if (!isHeard || (await tell(told))) continue;
      isHeard = false;
      bodies.cancel();
    }
  });
}
