import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { allocate, type Lane } from "../../core/allocate.ts";
import { advance } from "../../db/pools/advance.ts";
import { admissionPass, quickPass } from "../../db/pools/pass.ts";
import { recordTries } from "../../db/tries.ts";
import { AccountBook, ask, ended, started } from "../support/account-book.ts";

let book: AccountBook;
beforeAll(async () => {
  book = await AccountBook.make();
});
afterAll(async () => await book.db.drop());
beforeEach(async () => await book.clear());

const names = (letter: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${letter}${String(i).padStart(4, "0")}`);

describe("A7 B11: limits of a dag and of a task over all runs", () => {
  it("A7: a task's tries over all runs are granted at once up to its limit, in one call, and then one for each that ends", async () => {
    await book.setPool("p", 10);
    await book.limit({ byTask: { load: 2 } });
    const runs = [await book.newRun(), await book.newRun(), await book.newRun()];
    const first = await advance(
      book.db.pool,
      runs.slice(0, 2),
      [],
      [ask(runs[0]!, "load", "p"), ask(runs[1]!, "load", "p"), ask(runs[1]!, "other", "p")],
    );
    expect(first.undecided).toBe(false);
    expect(first.grants).toHaveLength(3);
    const third = await advance(
      book.db.pool,
      [runs[2]!],
      [],
      [ask(runs[2]!, "load", "p"), ask(runs[2]!, "other", "p")],
    );
    expect(third.grants).toEqual([]);
    expect(third.undecided).toBe(true);
    expect(await admissionPass(book.db.pool)).toBe(1);
    expect(await book.tasks("waiting")).toEqual(["load"]);
    const { rows } = await book.db.pool.query("select reason from app.lease where granted_at is null");
    expect(rows).toEqual([{ reason: 'the active tries of task "d.load" are at their limit: 2 of 2' }]);
    const { waiting } = await recordTries(
      book.db.pool,
      [started(runs[0]!, "load")],
      [ended(runs[0]!, "load")],
    );
    expect(waiting).toBe(true);
    expect(await admissionPass(book.db.pool)).toBe(1);
  });

  it("B11: what a limit of another pool's try gave back wakes who waits for it", async () => {
    await book.setPool("p", 5);
    await book.setPool("q", 5);
    await book.limit({ tasks: 1 });
    const run = await book.newRun();
    await advance(book.db.pool, [run], [], [ask(run, "a", "p")]);
    await advance(book.db.pool, [run], [], [ask(run, "b", "q")]);
    await admissionPass(book.db.pool);
    expect(await book.reasonOf("b")).toBe('the active tasks of dag "d" are at their limit: 1 of 1');
    const { waiting } = await recordTries(book.db.pool, [started(run, "a")], [ended(run, "a")]);
    expect(waiting).toBe(true);
    expect(await admissionPass(book.db.pool)).toBe(1);
    expect(await book.tasks("granted")).toEqual(["b"]);
  });

  it("K46: a thousand waiting for a task's limit, at a higher priority, hold up nobody else of their pool", async () => {
    await book.setPool("p", 50);
    await book.limit({ byTask: { held: 1 } });
    const runs = await Promise.all(Array.from({ length: 1000 }, async () => await book.newRun()));
    await advance(
      book.db.pool,
      runs,
      [],
      runs.map((run) => ask(run, "held", "p", 1, 9)),
    );
    const late = await book.newRun();
    await advance(
      book.db.pool,
      [late],
      [],
      names("other", 60).map((id) => ask(late, id, "p")),
    );
    await admissionPass(book.db.pool);
    expect(await book.used("p")).toBe(50);
    expect((await book.tasks("granted")).filter((id) => id === "held")).toHaveLength(1);
    expect(await book.reasonOf("other0050")).toBe('pool "p" is full: 50 of 50 in use, needs 1');
  });

  it("a limit that comes, shrinks or goes counts what is under way and what waits already", async () => {
    await book.setPool("p", 10);
    const run = await book.newRun();
    await advance(
      book.db.pool,
      [run],
      [],
      names("t", 6).map((id) => ask(run, id, "p")),
    );
    await book.limit({ tasks: 4 });
    await advance(book.db.pool, [run], [], [ask(run, "new", "p")]);
    expect(await admissionPass(book.db.pool)).toBe(0);
    expect(await book.reasonOf("new")).toBe('the active tasks of dag "d" are at their limit: 6 of 4');
    for (const id of ["t0000", "t0001"])
      await recordTries(book.db.pool, [started(run, id)], [ended(run, id)]);
    expect(await admissionPass(book.db.pool)).toBe(0);
    await book.limit({});
    expect(await admissionPass(book.db.pool)).toBe(1);
    const { rows } = await book.db.pool.query("select key from app.account where key like 'task%'");
    expect(rows).toEqual([]);
  });

  it("regression: a limit that is no more, though what waits names it, bounds nothing and stops no pass", async () => {
    await book.setPool("p", 3);
    await book.limit({ tasks: 1 });
    const run = await book.newRun();
    await advance(
      book.db.pool,
      [run],
      [],
      names("t", 3).map((id) => ask(run, id, "p")),
    );
    await book.db.pool.query(
      "update app.lease set limits = '{adhoc:p,cohort:gone,task:d:gone,tenant:gone}' where task_id <> ''",
    );
    await admissionPass(book.db.pool);
    expect(await book.tasks("waiting")).toEqual([]);
  });

  it("a limit of a dag whose id begins like another's is left alone when that one's go", async () => {
    const { pool } = book.db;
    await pool.query(
      "insert into app.account (key, slots) values ('task:d2:t', 1), ('tasks:d2', 1), ('task:d.x:t', 1)",
    );
    await book.limit({ tasks: 3, byTask: { t: 1 } });
    await book.limit({});
    const { rows } = await pool.query("select key from app.account where key like 'task%' order by key");
    expect(rows.map((row) => row.key)).toEqual(["task:d.x:t", "task:d2:t", "tasks:d2"]);
  });

  it("B11: under random load of several callers neither a pool nor a limit is exceeded, and all drains", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({ tasks: fc.integer({ min: 1, max: 4 }), each: fc.integer({ min: 1, max: 3 }) }),
        fc.array(
          fc.record({
            pool: fc.constantFrom("r", "s"),
            slots: fc.integer({ min: 1, max: 3 }),
            task: fc.nat(3),
          }),
          { minLength: 4, maxLength: 30 },
        ),
        async ({ tasks, each }, asked) => {
          await book.setPool("r", 3);
          await book.setPool("s", 4);
          await book.limit({ tasks, byTask: { t0: each } });
          const runs = await Promise.all(asked.map(async () => await book.newRun()));
          const look = async (): Promise<void> => {
            const { rows } = await book.db.pool.query<{ r: number; s: number; all: number; t0: number }>(
              `select coalesce(sum(slots) filter (where account = 'pool:r'), 0)::int as r,
                      coalesce(sum(slots) filter (where account = 'pool:s'), 0)::int as s,
                      count(*)::int as all, count(*) filter (where task_id = 't0')::int as t0
               from app.lease where task_id <> '' and granted_at is not null`,
            );
            expect(rows[0]!.r).toBeLessThanOrEqual(3);
            expect(rows[0]!.s).toBeLessThanOrEqual(4);
            expect(rows[0]!.all).toBeLessThanOrEqual(tasks);
            expect(rows[0]!.t0).toBeLessThanOrEqual(each);
          };
          await Promise.all(
            [0, 1, 2].map(async (caller) => {
              const own = asked.flatMap((one, i) => (i % 3 === caller ? [{ ...one, run: runs[i]! }] : []));
              for (const one of own)
                await advance(
                  book.db.pool,
                  [one.run],
                  [],
                  [ask(one.run, `t${one.task}`, one.pool, one.slots)],
                );
              await look();
            }),
          );
          for (let turn = 0; turn < 300; turn++) {
            await admissionPass(book.db.pool);
            await look();
            const { rows } = await book.db.pool.query<{ run: number; task_id: string }>(
              "select run, task_id from app.lease where task_id <> '' and granted_at is not null order by run",
            );
            if (rows.length === 0) break;
            const { run, task_id } = rows[turn % rows.length]!;
            await recordTries(book.db.pool, [started(run, task_id)], [ended(run, task_id)]);
          }
          expect(await book.tasks("waiting")).toEqual([]);
          for (const run of runs) await book.close(run);
        },
      ),
      { seed: 17, numRuns: 12 },
    );
  });

  it("the statement's fast path decides as the pure allocator does", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          pool: fc.integer({ min: 1, max: 6 }),
          tasks: fc.integer({ min: 1, max: 5 }),
          t0: fc.integer({ min: 1, max: 3 }),
        }),
        fc.array(fc.record({ slots: fc.integer({ min: 1, max: 3 }), task: fc.nat(2) }), {
          minLength: 1,
          maxLength: 8,
        }),
        async (size, asked) => {
          await book.db.pool.query("delete from app.lease where task_id <> ''");
          await book.setPool("q", size.pool);
          await book.limit({ tasks: size.tasks, byTask: { t0: size.t0 } });
          const runs = await Promise.all(asked.map(async () => await book.newRun()));
          await advance(
            book.db.pool,
            runs,
            [],
            asked.map((one, i) => ask(runs[i]!, `t${one.task}`, "q", one.slots)),
          );
          await admissionPass(book.db.pool);
          const lanes = asked.map((one, seq): Lane => ({
            accounts: ["pool:q", ...(one.task === 0 ? ["task:d:t0"] : []), "tasks:d"],
            heads: [{ id: String(runs[seq]), slots: one.slots, priority: 1, seq }],
          }));
          const { granted } = allocate(
            [
              { key: "pool:q", slots: size.pool, used: 0 },
              { key: "tasks:d", slots: size.tasks, used: 0 },
              { key: "task:d:t0", slots: size.t0, used: 0 },
            ],
            lanes,
          );
          const { rows } = await book.db.pool.query<{ run: number }>(
            "select run from app.lease where task_id <> '' and granted_at is not null",
          );
          expect(rows.map(({ run }) => String(run)).sort()).toEqual([...granted].sort());
        },
      ),
      { seed: 18, numRuns: 40 },
    );
  });
});

describe("the quick pass", () => {
  it("grants what the full one would, to those who wait for pools and places alone, and says when somebody else waits", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({ q: fc.integer({ min: 0, max: 5 }), s: fc.integer({ min: 0, max: 5 }) }),
        fc.array(
          fc.record({
            pool: fc.constantFrom("q", "s"),
            slots: fc.integer({ min: 1, max: 4 }),
            priority: fc.nat(2),
          }),
          { minLength: 1, maxLength: 8 },
        ),
        async (size, asked) => {
          await book.db.pool.query("delete from app.lease where task_id <> ''");
          for (const name of ["q", "s"]) await book.setPool(name, 0);
          const run = await book.newRun();
          await advance(
            book.db.pool,
            [run],
            [],
            asked.map((one, i) => ask(run, `t${i}`, one.pool, one.slots, one.priority)),
          );
          await admissionPass(book.db.pool);
          await book.setPool("q", size.q);
          await book.setPool("s", size.s);
          const quick = await quickPass(book.db.pool);
          expect(quick.granted).toBe((await book.tasks("granted")).length);
          expect(quick.rest).toBe(false);
          expect(await admissionPass(book.db.pool)).toBe(0);
        },
      ),
      { seed: 19, numRuns: 40 },
    );
    await book.setPool("p", 0);
    await book.limit({ tasks: 1 });
    const run = await book.newRun();
    await advance(book.db.pool, [run], [], [ask(run, "limited", "p")]);
    await admissionPass(book.db.pool);
    await book.setPool("p", 1);
    expect(await quickPass(book.db.pool)).toEqual({ granted: 0, rest: true });
  });
});
