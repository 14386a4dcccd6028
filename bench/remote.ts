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
  const ask = async (call: Call): Promise<Sample | null> => {
    const answered = new AbortController();
    const exited = once(child, "exit", { signal: answered.signal }).then(([code]) => {
      throw new Error(
        `bench: the process of "${name}" ended (exit code ${String(code)}) during ${call.call}`,
      );
    });
    const answer = once(child, "message", { signal: answered.signal });
    try {
      child.send(call);
      const [reply] = (await Promise.race([answer, exited])) as [Answer];
      if ("error" in reply) throw new Error(`bench: "${name}" failed in ${call.call}: ${reply.error}`);
      return reply.sample;
    } finally {
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
      if (child.exitCode !== null || !child.connected) return;
      await ask({ call: "tearDown" });
      const exited = once(child, "exit");
      child.disconnect();
      await exited;
    },
  };
}
