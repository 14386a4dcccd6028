import {
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  setHandler,
  sleep,
} from "@temporalio/workflow";
import { partSignal, triesSignal, type PartEnd, type PartInput, type PartTries } from "./messages.ts";
import { pieceOf } from "./pieces.ts";
import { runTry } from "./try-activity.ts";
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

  const begin = ({ tasks, tries }: PartTries): void => {
    open += tries.length;
    for (const [position, index, number, given] of tries) {
      const task = tasks[position]!;
      const end = (outcome: PartEnd[3], granted: readonly string[]): void => {
        open -= 1;
        ends.push([position, index, number, outcome, granted]);
      };
      const scope = task.isTeardown ? calls : bodies;
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
