import { ApplicationFailure } from "@temporalio/workflow";
import type { CommandAnswer } from "../core/progress.ts";
import type { RunCommand } from "../core/run-command.ts";

export interface AskedCommand {
  readonly command: RunCommand;
  readonly answer: (answer: CommandAnswer) => void;
  readonly refuse: (code: string, message: string) => void;
}

/** Commands that wait for the run's turn; each caller is answered once it is done or refused. */
export class Commands {
  readonly #asked: AskedCommand[] = [];
  readonly #wake: () => void;

  constructor(wake: () => void) {
    this.#wake = wake;
  }

  ask(command: RunCommand): Promise<CommandAnswer> {
    return new Promise((resolve, reject) => {
      this.#asked.push({
        command,
        answer: resolve,
        refuse: (code, message) => reject(ApplicationFailure.nonRetryable(message, code)),
      });
      this.#wake();
    });
  }

  get waiting(): boolean {
    return this.#asked.length > 0;
  }

  take(): AskedCommand | undefined {
    return this.#asked.shift();
  }
}
