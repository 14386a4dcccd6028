import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { allocate } from "../../core/allocate.ts";
import { advance } from "../../db/pools/advance.ts";
import { setPool } from "../../db/pools/change.ts";
import { admissionPass, quickPass } from "../../db/pools/pass.ts";
import { recordTries } from "../../db/tries.ts";
import { AccountBook, ask, ended, started } from "../support/account-book.ts";

let book: AccountBook;
beforeAll(async () => {
  book = await AccountBook.make();
});
afterAll(async () => await book.db.drop());
beforeEach(async () => await book.clear());

const head = (id: string, slots: number, seq: number) => ({ id, slots, seq, priority: 1 });
const tenant = { cohort: "cohort:c", most: null, exhausted: null, recent: 0 };

describe("K45: what can never fit stands in nobody's way", () => {
  it("regression: however many of them come first in a queue of another class, what fits behind them is granted", async () => {
    await book.setPool("p", 2);
    await book.addDag("low", null, 0);
    const run = await book.newRun("low", "scheduled");
    const big = Array.from({ length: 11 }, (_, i) => ask(run, `big${i}`, "p", 4));
    await advance(book.db.pool, [run], [], big);
    await advance(book.db.pool, [run], [], [ask(run, "small", "p")]);
    await quickPass(book.db.pool);
    await admissionPass(book.db.pool);
    expect(await book.tasks("granted")).toEqual(["small"]);
    expect(await book.reasonOf("big0")).toBe('can never run: needs 4, pool "p" has 2');
  });

  it("regression: the minimum share is reckoned by what can run", () => {
    let owed: readonly [number, number] = [0, 0];
    let low = 0;
    for (let i = 0; i < 200; i++) {
      const answer = allocate(
        [{ key: "pool:p", slots: 1, used: 0, owed }],
        [
          { accounts: ["pool:p"], class: 0, heads: [head("never", 1000, 0), head("low", 1, 1)] },
          { accounts: ["pool:p"], class: 2, heads: [head("top1", 1, 2), head("top2", 1, 3)] },
        ],
      );
      owed = answer.owed.get("pool:p")!;
      if (answer.granted.includes("low")) low++;
    }
    expect(low).toBeGreaterThanOrEqual(19);
  });

  it("regression: a tenant's place is that of what can run", () => {
    const { granted } = allocate(
      [
        { key: "pool:p", slots: 10, used: 9 },
        { key: "cohort:c", slots: 50, used: 9 },
        { key: "tenant:a", slots: 5, used: 0, tenant },
        { key: "tenant:b", slots: 5, used: 5, tenant },
      ],
      [
        { accounts: ["pool:p", "cohort:c", "tenant:a"], heads: [head("never", 11, 1), head("own", 1, 2)] },
        { accounts: ["pool:p", "cohort:c", "tenant:b"], class: 2, heads: [head("borrow", 1, 3)] },
      ],
    );
    expect(granted).toEqual(["own"]);
  });
});

describe("B12: taking back", () => {
  it("regression: in each pool as much as is waited for there", () => {
    const { reclaims } = allocate(
      [
        { key: "pool:p", slots: 5, used: 5 },
        { key: "pool:q", slots: 9, used: 9 },
        { key: "cohort:c", slots: 50, used: 14 },
        { key: "tenant:a", slots: 20, used: 0, tenant },
        { key: "tenant:b", slots: 0, used: 14, tenant },
      ],
      [
        {
          accounts: ["pool:p", "cohort:c", "tenant:a"],
          heads: [1, 2, 3, 4, 5].map((i) => head(`p${i}`, 1, i)),
        },
        { accounts: ["pool:q", "cohort:c", "tenant:a"], heads: [head("q", 1, 9)] },
      ],
    );
    expect(reclaims.map(({ pool, slots }) => [pool, slots])).toEqual([
      ["pool:p", 5],
      ["pool:q", 1],
    ]);
  });

  it("regression: nobody is told that it comes where nobody has borrowed", async () => {
    await book.setPool("p", 1);
    await book.setAccount("cohort:c", 9);
    await book.setAccount("tenant:a", 9, { cohort: "c" });
    await book.addDag("a", "a");
    const other = await book.newRun("d", "scheduled");
    await advance(book.db.pool, [other], [], [ask(other, "holder", "p")]);
    const run = await book.newRun("a", "scheduled");
    await advance(book.db.pool, [run], [], [ask(run, "waits", "p")]);
    await admissionPass(book.db.pool);
    expect(await book.reasonOf("waits")).toBe('pool "p" is full: 1 of 1 in use, needs 1');
  });

  it("regression: a request to give back does not outlive the try that it was for, when that begins to wait", async () => {
    const { pool } = book.db;
    await book.setPool("p", 1);
    const run = await book.newRun();
    await advance(pool, [run], [], [ask(run, "s", "p")]);
    await recordTries(pool, [started(run, "s")], []);
    await pool.query(
      "select app.preempt_tries(jsonb_agg(jsonb_build_object('id', ctid::text, 'why', 'w'))) from app.lease where task_id = 's'",
    );
    await recordTries(pool, [], [ended(run, "s", 1, "deferred")]);
    expect((await pool.query("select from app.stop where task_id = 's'")).rowCount).toBe(0);
  });

  it("regression: what a try used before midnight is of the day before", async () => {
    await book.setPool("p", 1);
    await book.setAccount("tenant:a", 5);
    await book.addDag("a", "a");
    const run = await book.newRun("a", "scheduled");
    await advance(book.db.pool, [run], [], [ask(run, "x", "p")]);
    await book.db.pool.query(
      "update app.lease set granted_at = app.now() - interval '30 hours' where task_id = 'x'",
    );
    const hours = async (): Promise<number> =>
      (await book.db.pool.query<{ h: number }>("select app.core_hours_today('a') as h")).rows[0]!.h;
    const before = await hours();
    expect(before).toBeLessThanOrEqual(24);
    await recordTries(book.db.pool, [started(run, "x")], [ended(run, "x")]);
    expect(await hours()).toBeCloseTo(before, 1);
  });
});

describe("B11: calls that come late, and at once", () => {
  it("regression: a late call for a run that is over asks for nothing, and a floor that goes stops no pass", async () => {
    await book.setPool("p", 2);
    await book.setAccount("adhoc:p", 1);
    const run = await book.newRun();
    await book.close(run);
    await advance(book.db.pool, [run], [], [ask(run, "late1", "p"), ask(run, "late2", "p", 2)]);
    expect([...(await book.tasks("granted")), ...(await book.tasks("waiting"))]).toEqual([]);
    await setPool(book.db.pool, { name: "p", slots: 2, description: null, floor: 0, who: "t" });
    await admissionPass(book.db.pool);
  });

  it("regression: a call that settles and asks, beside a quick pass, is no deadlock", async () => {
    await book.setPool("z", 2);
    const { pool } = book.db;
    const run = await book.newRun();
    await advance(pool, [run], [], [ask(run, "f1", "z"), ask(run, "f2", "z")]);
    await advance(pool, [run], [], [ask(run, "x", "z")]);
    await pool.query("delete from app.lease where task_id = 'f1'");
    // Held by a third, so that both are under way.
    const other = await pool.connect();
    await other.query("begin");
    await other.query("select app.lock_accounts(74, array['pool:z'])");
    const quick = quickPass(pool);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const skipped = {
      run,
      seq: 5,
      task_id: "x",
      map_index: -1,
      try: 1,
      try_state: null,
      error: null,
      output: null,
    };
    const settling = advance(pool, [run], [{ ...skipped, state: "skipped" }], [ask(run, "y", "z")]);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await other.query("commit");
    other.release();
    await Promise.all([quick, settling]);
    await quickPass(pool);
    expect(await book.tasks("granted")).toEqual(["f2", "y"]);
  });
});
