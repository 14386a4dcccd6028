import { describe, expect, it } from "vitest";
import { bundle, given, ran, sleep, type Given } from "./support.ts";

describe("runner: which thread takes a body", () => {
  const head = 'import { threadId } from "node:worker_threads";';
  const code = (name: string) =>
    bundle({ where: "async () => { await sleep(400); return threadId; }" }, `${head} // ${name}`);

  /** Two threads, both busy with a body of their own. */
  async function busy(): Promise<{ runner: Given; threads: Promise<unknown[]> }> {
    const runner = given({ threads: 2 });
    const slow = bundle({ slow: "async () => { await sleep(3_000); return threadId; }" }, head);
    // The threads start one by one: until both are there, the first takes all.
    const started = performance.now();
    while (performance.now() - started < 20_000) {
      if (new Set(await threadsOf(runner, code("warm"), 2)).size === 2) break;
      await sleep(50);
    }
    const threads = Promise.all([1, 2].map(async () => await threadOf(runner, slow, "slow")));
    await sleep(300);
    return { runner, threads };
  }

  async function threadOf(runner: Given, text: string, task = "where"): Promise<unknown> {
    const { outcome } = await ran(runner, text, task);
    expect(outcome.kind).toBe("success");
    return outcome.kind === "success" ? outcome.output : null;
  }

  async function threadsOf(runner: Given, text: string, count: number): Promise<unknown[]> {
    return await Promise.all(Array.from({ length: count }, async () => await threadOf(runner, text)));
  }

  it("bodies of one DAG stay on a busy thread that has its code, until it is a few bodies busier than another", async () => {
    const { runner, threads } = await busy();
    expect(new Set(await threadsOf(runner, code("few"), 4)).size).toBe(1);
    expect(new Set(await threadsOf(runner, code("many"), 40)).size).toBe(2);
    expect(new Set(await threads).size).toBe(2);
  });

  it("an idle thread takes a body though it has to import its code", async () => {
    const runner = given({ threads: 2 });
    const text = code("idle");
    for (let tries = 0; tries < 100; tries++) {
      if (new Set(await threadsOf(runner, text, 2)).size === 2) return;
      await sleep(50);
    }
    expect.fail("two bodies at once never used both threads");
  });
});
