import { describe, expect, it } from "vitest";
import type { Runner } from "../../../activities/runner/types.ts";
import { bundle, given, ran, sleep } from "./support.ts";

describe("runner: threads that are worn", () => {
  const head = 'import { threadId } from "node:worker_threads";';
  const where = bundle({ where: "() => threadId" }, head);

  async function threadAfter(runner: Runner, code: string, first: unknown): Promise<unknown> {
    for (let tries = 0; tries < 100; tries++) {
      const { outcome } = await ran(runner, code, "where");
      expect(outcome.kind).toBe("success");
      if (outcome.kind === "success" && outcome.output !== first) return outcome.output;
      await sleep(100);
    }
    return first;
  }

  it("a thread is replaced after so many bundles, ended when idle, and nothing is lost", async () => {
    const runner = given({ bundlesPerThread: 3 });
    const slow = bundle({ slow: "async () => { await sleep(2_000); return threadId; }" }, head);
    const long = ran(runner, slow, "slow");
    for (let i = 0; i < 4; i++) await ran(runner, `${where}// ${i}`, "where");
    const first = (await ran(runner, where, "where")).outcome;
    expect(first.kind).toBe("success");
    const firstThread = first.kind === "success" ? first.output : null;
    expect(await threadAfter(runner, where, firstThread)).not.toBe(firstThread);
    expect((await long).outcome).toEqual({ kind: "success", output: firstThread });
  });

  it("a thread whose bodies leaked is replaced before it runs out of memory", async () => {
    const runner = given({ threadMemoryMb: 192 });
    const leak = bundle(
      {
        leak: `() => {
          globalThis.kept = Array.from({ length: 145 }, () => Array.from({ length: 2 ** 17 }, (_, i) => i + 0.5));
          return threadId;
        }`,
      },
      head,
    );
    const { outcome } = await ran(runner, leak, "leak");
    expect(outcome.kind).toBe("success");
    const first = outcome.kind === "success" ? outcome.output : null;
    expect(await threadAfter(runner, where, first)).not.toBe(first);
  });
});
