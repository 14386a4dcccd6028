type Step = () => unknown;

export interface Undo {
  add(step: Step): void;
  /** All steps, last first; one that fails keeps none of the others from being done. */
  run(): Promise<void>;
  /** Ctrl-C has come: the steps are under way, and the process ends after them. */
  readonly interrupted: boolean;
}

/** What a bench undoes at its end, also on Ctrl-C. */
export function undoAtEnd(onError: (error: unknown) => void): Undo {
  const steps: Step[] = [];
  let interrupted = false;
  const run = async (): Promise<void> => {
    for (const step of steps.splice(0).toReversed()) {
      try {
        await step();
      } catch (error) {
        onError(error);
      }
    }
  };
  // A signal may come more than once (`timeout` sends two, people press Ctrl-C twice): only the first counts.
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      if (interrupted) return;
      interrupted = true;
      void run().finally(() => process.exit(130));
    });
  }
  return {
    add: (step) => void steps.push(step),
    run,
    get interrupted() {
      return interrupted;
    },
  };
}
