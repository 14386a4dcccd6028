import { describe, expect, it, vi } from "vitest";
import { Batcher } from "../../core/batcher.ts";

describe("core/batcher", () => {
  it("what is asked for while a call is under way shares the next one", async () => {
    const batches: number[][] = [];
    const batcher = new Batcher<number, number>(async (batch) => {
      batches.push([...batch]);
      await new Promise((resolve) => setTimeout(resolve, 5));
      return batch.map((n) => n * 2);
    }, 3);
    const first = batcher.add(1);
    await new Promise((resolve) => setTimeout(resolve, 1));
    expect(await Promise.all([first, ...[2, 3, 4, 5].map(async (n) => await batcher.add(n))])).toEqual([
      2, 4, 6, 8, 10,
    ]);
    expect(batches).toEqual([[1], [2, 3, 4], [5]]);
  });

  it("a burst gathers while it rests: what comes after a call waits for the rest and goes together", async () => {
    const batches: number[][] = [];
    const gates: (() => void)[] = [];
    const batcher = new Batcher<number, number>(
      async (batch) => {
        batches.push([...batch]);
        return [...batch];
      },
      10,
      (n) => n,
      async () => await new Promise<void>((resolve) => gates.push(resolve)),
    );
    await batcher.add(1);
    await vi.waitFor(() => expect(gates).toHaveLength(1));
    const later = [2, 3].map(async (n) => await batcher.add(n));
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(batches).toEqual([[1]]);
    gates[0]!();
    expect(await Promise.all(later)).toEqual([2, 3]);
    expect(batches).toEqual([[1], [2, 3]]);
  });

  it("repeats: of items with one key the last is performed, and answers for all", async () => {
    const batches: string[][] = [];
    const batcher = new Batcher<{ key: number; text: string }, string>(
      async (batch) => {
        batches.push(batch.map((item) => item.text));
        return batch.map((item) => item.text.toUpperCase());
      },
      10,
      (item) => item.key,
    );
    const items = [
      { key: 1, text: "a" },
      { key: 2, text: "b" },
      { key: 1, text: "c" },
    ];
    expect(await Promise.all(items.map(async (item) => await batcher.add(item)))).toEqual(["C", "B", "C"]);
    expect(batches).toEqual([["c", "b"]]);
  });

  it("poison: a value that the database refuses fails alone; any other error fails the batch, which nobody repeats", async () => {
    let calls = 0;
    const refusing = (code: string) =>
      new Batcher<number, number>(async (batch) => {
        calls += 1;
        if (batch.includes(2)) throw Object.assign(new Error(`refused ${batch.join()}`), { code });
        return [...batch];
      }, 10);
    const all = async (batcher: Batcher<number, number>) =>
      (await Promise.allSettled([1, 2, 3].map(async (n) => await batcher.add(n)))).map(
        ({ status }) => status,
      );
    expect(await all(refusing("22P05"))).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(calls).toBe(4);
    expect(await all(refusing("57P01"))).toEqual(["rejected", "rejected", "rejected"]);
    expect(calls).toBe(5);
  });
});
