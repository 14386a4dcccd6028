import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { BenchEnv, Contestant, ContestantName, Sample } from "./contestant.ts";
import type { Workload } from "./workloads.ts";

/** What a contestant's process is asked, one call at a time. */
export type Call =
  | { readonly call: "setUp"; readonly env: BenchEnv }
  | { readonly call: "run"; readonly workload: Workload }
  | { readonly call: "tearDown" };

export type Answer = { readonly sample: Sample | null } | { readonly error: string };

/** A contestant in a process of its own, so that its CPU is its own and its garbage slows nobody else. */
export interface RemoteContestant extends Contestant {
  readonly pid: number;
}

/** Starts the process of a contestant; `setUp` comes next. */
export function startContestant(name: ContestantName): RemoteContestant {
  const child = fork(fileURLToPath(new URL("./host.mjs", import.meta.url)), [name]);
  let busy = false;
  const ask = async (call: Call): Promise<Sample | null> => {
    busy = true;
    const answered = new AbortController();
    const { signal } = answered;
    const exited = once(child, "exit", { signal }).then(([code]) => {
      throw new Error(
        `bench: the process of "${name}" ended (exit code ${String(code)}) during ${call.call}`,
      );
    });
    const answer = once(child, "message", { signal });
    try {
      child.send(call);
      const [reply] = (await Promise.race([answer, exited])) as [Answer];
      if ("error" in reply) throw new Error(`bench: "${name}" failed in ${call.call}: ${reply.error}`);
      return reply.sample;
    } finally {
      busy = false;
      exited.catch(() => undefined);
      answer.catch(() => undefined);
      answered.abort();
    }
  };
  return {
    name,
    pid: child.pid ?? 0,
    async setUp(env) {
      await ask({ call: "setUp", env });
    },
    async run(workload) {
      const sample = await ask({ call: "run", workload });
      if (!sample) throw new Error(`bench: "${name}" returned no sample for ${workload.id}`);
      return sample;
    },
    async tearDown() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, "exit");
      try {
        // Interrupted in the middle of a call: no time for manners, its servers go with it.
        if (busy) child.kill("SIGKILL");
        else await ask({ call: "tearDown" });
      } finally {
        if (child.connected) child.disconnect();
        await exited;
      }
    },
  };
}
