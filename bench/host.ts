import { Bare } from "./bare/contestant.ts";
import type { Contestant, ContestantName, Sample } from "./contestant.ts";
import { Ours } from "./ours/contestant.ts";
import type { Answer, Call } from "./remote.ts";

const CREATE: Record<ContestantName, () => Contestant> = { bare: () => new Bare(), ours: () => new Ours() };

let contestant: Contestant | undefined;

async function perform(call: Call): Promise<Sample | null> {
  contestant ??= CREATE[process.argv[2] as ContestantName]();
  switch (call.call) {
    case "setUp":
      await contestant.setUp(call.env);
      return null;
    case "run":
      return contestant.run(call.workload);
    case "tearDown":
      await contestant.tearDown();
      return null;
  }
}

function reply(answer: Answer): void {
  process.send?.(answer);
}

process.on("message", (call: Call) => {
  perform(call).then(
    (sample) => reply({ sample }),
    (error: unknown) =>
      reply({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  );
});
// Ctrl-C reaches the whole group of processes; the bench ends this one in its own order.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => undefined);
// The bench is gone or done: nothing here may outlive it.
process.on("disconnect", () => process.exit(0));
