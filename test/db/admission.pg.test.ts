import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { allocate } from "../../core/allocate.ts";
import { advance } from "../../db/pools/advance.ts";
import { markTold, takeUntold } from "../../db/pools/outbox.ts";
import { admissionPass } from "../../db/pools/pass.ts";
import { createRuns } from "../../db/runs.ts";
import { recordTries } from "../../db/tries.ts";
import { AccountBook, ask, ended, settled, started } from "../support/account-book.ts";
import type { TestDatabase } from "../support/database.ts";

let book: AccountBook;
let db: TestDatabase;
beforeAll(async () => {
  book = await AccountBook.make();
  ({ db } = book);
});
afterAll(async () => await db.drop());
beforeEach(async () => await book.clear());

const pool = async (name: string, slots: number): Promise<void> => await book.setPool(name, slots);
const newRun = async (): Promise<number> => await book.newRun();
const used = async (name: string): Promise<number> => await book.used(name);

describe("B11: the account book", () => {
  it("K44: pool of 24; 12, 12 and 16: 12 + 12 first, 16 later, never above 24", async () => {
    await pool("p", 24);
    const run = await newRun();
    const first = await advance(
      db.pool,
      [run],
      [],
      [ask(run, "a", "p", 12), ask(run, "b", "p", 12), ask(run, "c", "p", 16)],
    );
    expect(first.grants.map((grant) => grant.task_id).sort()).toEqual(["a", "b"]);
    expect(first.undecided).toBe(true);
    await admissionPass(db.pool);
    const { rows } = await db.pool.query("select reason from app.lease where task_id = 'c' and run = $1", [
      run,
    ]);
    expect(rows[0].reason).toBe('pool "p" is full: 24 of 24 in use, needs 16');
    await recordTries(db.pool, [started(run, "a")], [ended(run, "a")]);
    expect(await admissionPass(db.pool)).toBe(0);
    await recordTries(db.pool, [started(run, "b")], [ended(run, "b")]);
    expect(await admissionPass(db.pool)).toBe(1);
    expect(await used("p")).toBe(16);
  });

  it("K45: a task bigger than its pool says so within one pass, and starts once the pool has grown", async () => {
    await pool("small", 2);
    const run = await newRun();
    await advance(db.pool, [run], [], [ask(run, "big", "small", 4)]);
    await admissionPass(db.pool);
    const reason = async () =>
      (await db.pool.query("select reason from app.lease where run = $1 and task_id = 'big'", [run])).rows[0]
        .reason;
    expect(await reason()).toBe('can never run: needs 4, pool "small" has 2');
    await pool("small", 4);
    expect(await admissionPass(db.pool)).toBe(1);
    expect(await reason()).toBeNull();
  });

  it("K48: a pool that does not exist is the reason shown", async () => {
    const run = await newRun();
    await advance(db.pool, [run], [], [ask(run, "x", "nowhere")]);
    await admissionPass(db.pool);
    const { rows } = await db.pool.query("select reason from app.lease where run = $1 and task_id = 'x'", [
      run,
    ]);
    expect(rows[0].reason).toBe('can never run: pool "nowhere" does not exist');
  });

  it("K46: a full pool does not hold up another", async () => {
    await pool("a", 20);
    await pool("b", 20);
    const run = await newRun();
    await advance(
      db.pool,
      [run],
      [],
      Array.from({ length: 19 }, (_, i) => ask(run, `h${i}`, "a")),
    );
    await db.pool.query("update app.account set slots = 0 where key in ('pool:b')");
    await advance(
      db.pool,
      [run],
      [],
      [
        ...Array.from({ length: 300 }, (_, i) => ask(run, `a${i}`, "a", 1, 2)),
        ...Array.from({ length: 100 }, (_, i) => ask(run, `b${i}`, "b", 1, 1)),
      ],
    );
    expect(await used("a")).toBe(20);
    await pool("b", 20);
    expect(await admissionPass(db.pool)).toBe(20);
    expect([await used("a"), await used("b")]).toEqual([20, 20]);
  });

  it("B12: higher priority first, then first come", async () => {
    await pool("one", 1);
    const run = await newRun();
    await advance(db.pool, [run], [], [ask(run, "holder", "one")]);
    await advance(
      db.pool,
      [run],
      [],
      [ask(run, "low", "one", 1, 1), ask(run, "high", "one", 1, 9), ask(run, "low2", "one", 1, 1)],
    );
    const order: string[] = [];
    let last = "holder";
    for (let i = 0; i < 3; i++) {
      await recordTries(db.pool, [started(run, last)], [ended(run, last)]);
      await admissionPass(db.pool);
      const { rows } = await db.pool.query(
        "select task_id from app.lease where account = 'pool:one' and granted_at is not null",
      );
      last = rows[0].task_id;
      order.push(last);
    }
    expect(order).toEqual(["high", "low", "low2"]);
  });

  it("regression: a grant whose answer was lost is told again, unless its try has begun", async () => {
    await pool("p", 10);
    const run = await newRun();
    // The answer of this call never reaches the run: its worker was killed, or too slow.
    await advance(db.pool, [run], [], [ask(run, "begun", "p"), ask(run, "lost", "p")]);
    await recordTries(db.pool, [started(run, "begun")], []);
    expect(await takeUntold(db.pool, 10, 1000)).toEqual([]);
    await db.pool.query("update app.lease set tell_after = app.now() where run = $1", [run]);
    const untold = await takeUntold(db.pool, 10, 1000);
    expect(untold.map((grant) => grant.task_id)).toEqual(["lost"]);
    await markTold(db.pool, untold);
    await db.pool.query("update app.lease set tell_after = app.now() where run = $1", [run]);
    expect(await takeUntold(db.pool, 10, 1000)).toEqual([]);
  });

  it("regression: a success that the run calls lost gives back what was asked for ahead on its strength", async () => {
    await pool("single", 1);
    const run = await newRun();
    await advance(db.pool, [run], [], [ask(run, "a", "single")]);
    const next = { run, task_id: "b", after: ["a"], account: "pool:single", slots: 1, priority: 1 };
    const recorded = await recordTries(db.pool, [started(run, "a")], [ended(run, "a")], [next]);
    expect(recorded.grants).toEqual([{ run, task_id: "b" }]);
    // The worker died before Temporal heard of the end: the run calls try 1 lost and asks for try 2 of `a`.
    const lost = { ...settled(run, 1, "a"), state: "up_for_retry" as const, try_state: "lost" as const };
    const again = await advance(db.pool, [run], [lost], [ask(run, "a", "single", 1, 1, 2)]);
    expect(again.grants.map((grant) => [grant.task_id, grant.try])).toEqual([["a", 2]]);
    expect(await used("single")).toBe(1);
    const { rows } = await db.pool.query("select task_id from app.cell where run = $1", [run]);
    expect(rows).toEqual([{ task_id: "a" }]);
    // Its second success asks for `b` anew.
    const second = await recordTries(db.pool, [started(run, "a", 2)], [ended(run, "a", 2)], [next]);
    expect(second.grants).toEqual([{ run, task_id: "b" }]);
    expect(await used("single")).toBe(1);
    // A repeat of the old word that comes late takes nothing back.
    await advance(db.pool, [run], [lost], []);
    const { rows: cells } = await db.pool.query("select task_id from app.cell where run = $1 order by 1", [
      run,
    ]);
    expect(cells).toEqual([{ task_id: "a" }, { task_id: "b" }]);
    expect(await used("single")).toBe(1);
  });

  it("a repeated advance answers the same grants and asks for nothing twice", async () => {
    await pool("p", 10);
    const run = await newRun();
    const first = await advance(db.pool, [run], [], [ask(run, "a", "p"), ask(run, "b", "p")]);
    const again = await advance(db.pool, [run], [], [ask(run, "a", "p"), ask(run, "b", "p")]);
    expect(again.grants).toHaveLength(2);
    expect(first.grants).toHaveLength(2);
    expect(await used("p")).toBe(2);
  });

  it("a late repeat does not ask for a try that has ended", async () => {
    await pool("p", 10);
    const run = await newRun();
    await advance(db.pool, [run], [], [ask(run, "a", "p")]);
    await recordTries(db.pool, [started(run, "a")], [ended(run, "a")]);
    expect((await advance(db.pool, [run], [], [ask(run, "a", "p")])).grants).toEqual([]);
    await advance(db.pool, [run], [settled(run, 1, "a")], []);
    expect((await advance(db.pool, [run], [], [ask(run, "a", "p")])).grants).toEqual([]);
    expect(await used("p")).toBe(0);
  });

  it("B11: under random load from four callers at once the ceiling holds, everything is granted once, nothing leaks", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 6 }),
        fc.array(fc.record({ slots: fc.integer({ min: 1, max: 3 }), priority: fc.nat(3) }), {
          minLength: 4,
          maxLength: 40,
        }),
        async (slots, asked) => {
          await pool("r", Math.max(slots, 3));
          const run = await newRun();
          let most = 0;
          const open = new Set(asked.map((_, i) => `t${i}`));
          const granted = new Set<string>();
          const look = async (): Promise<void> => {
            most = Math.max(most, await used("r"));
          };
          await Promise.all(
            [0, 1, 2, 3].map(async (caller) => {
              const own = asked.map((one, i) => ({ ...one, id: `t${i}` })).filter((_, i) => i % 4 === caller);
              await advance(
                db.pool,
                [run],
                [],
                own.map((one) => ask(run, one.id, "r", one.slots, one.priority)),
              );
              await look();
            }),
          );
          for (let turn = 0; open.size > 0 && turn < 200; turn++) {
            await admissionPass(db.pool);
            await look();
            const { rows } = await db.pool.query(
              "select task_id from app.lease where run = $1 and account = 'pool:r' and granted_at is not null",
              [run],
            );
            expect(rows.length).toBeGreaterThan(0);
            const id = rows[turn % rows.length].task_id as string;
            expect(granted.has(id)).toBe(false);
            granted.add(id);
            open.delete(id);
            await recordTries(db.pool, [started(run, id)], [ended(run, id)]);
          }
          expect(open.size).toBe(0);
          expect(most).toBeLessThanOrEqual(Math.max(slots, 3));
          expect(await used("r")).toBe(0);
        },
      ),
      { seed: 11, numRuns: 15 },
    );
  });

  it("the statement's fast path decides as the pure allocator does", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 8 }),
        fc.array(fc.record({ slots: fc.integer({ min: 1, max: 10 }), priority: fc.nat(2) }), {
          minLength: 1,
          maxLength: 12,
        }),
        async (slots, asked) => {
          await pool("q", slots);
          const run = await newRun();
          const { grants } = await advance(
            db.pool,
            [run],
            [],
            asked.map((one, i) => ask(run, `t${i}`, "q", one.slots, one.priority)),
          );
          const order = asked
            .map((one, i) => ({ id: `t${i}`, ...one, seq: i }))
            .sort((a, b) => b.priority - a.priority || a.seq - b.seq);
          const want = allocate(
            [{ key: "pool:q", slots, used: 0 }],
            [{ accounts: ["pool:q"], heads: order }],
          ).granted;
          expect(grants.map((grant) => grant.task_id).sort()).toEqual([...want].sort());
          await db.pool.query("delete from app.lease where run = $1", [run]);
        },
      ),
      { seed: 12, numRuns: 60 },
    );
  });
});

describe("B3 K23: runs and their places", () => {
  it("max active runs: the rest wait, oldest first, one starts for each that closes", async () => {
    await db.pool.query("update app.account set slots = 2 where key = 'runs:d'");
    const base = Date.UTC(2020, 0, 1);
    const asked = Array.from({ length: 5 }, (_, i) => {
      const at = new Date(base + i * 86_400_000).toISOString();
      return {
        dag_id: "d",
        run_id: `w${i}`,
        run_type: "scheduled" as const,
        logical_at: at,
        start_at: at,
        end_at: at,
        version: book.version,
        who: "s",
        first: null,
      };
    });
    const made = (await createRuns(db.pool, [...asked].reverse())).toReversed();
    expect(made.map((run) => [run.run_id, run.granted])).toEqual([
      ["w0", true],
      ["w1", true],
      ["w2", false],
      ["w3", false],
      ["w4", false],
    ]);
    expect((await createRuns(db.pool, asked)).every((run) => !run.created)).toBe(true);
    expect(await book.close(made[0]!.run)).toBe(true);
    expect(await admissionPass(db.pool)).toBe(1);
    await db.pool.query("update app.lease set tell_after = app.now()");
    const untold = await takeUntold(db.pool, 10, 1000);
    expect(untold.map((grant) => grant.run_id).sort()).toEqual(["w1", "w2"]);
  });

  it("an older seq changes nothing; a live record never overwrites what the run decided", async () => {
    await pool("p", 10);
    const run = await newRun();
    await advance(db.pool, [run], [], [ask(run, "a", "p")]);
    await recordTries(db.pool, [started(run, "a")], []);
    const lost = { ...settled(run, 1, "a"), state: "up_for_retry" as const, try_state: "lost" as const };
    await advance(db.pool, [run], [lost], [ask(run, "a", "p", 1, 1, 2)]);
    await recordTries(db.pool, [], [ended(run, "a", 1)]);
    const cell = async () =>
      (await db.pool.query("select state, try from app.cell where run = $1 and task_id = 'a'", [run]))
        .rows[0];
    const first = async () =>
      (
        await db.pool.query("select state from app.task_try where run = $1 and task_id = 'a' and try = 1", [
          run,
        ])
      ).rows[0].state;
    expect(await cell()).toEqual({ state: "queued", try: 2 });
    expect(await first()).toBe("lost");
    await recordTries(db.pool, [started(run, "a", 2)], [ended(run, "a", 2)]);
    await advance(db.pool, [run], [settled(run, 2, "a", 2)], []);
    await advance(db.pool, [run], [lost], []);
    expect(await cell()).toEqual({ state: "success", try: 2 });
  });
});
