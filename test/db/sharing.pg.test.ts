import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { advance } from "../../db/pools/advance.ts";
import { admissionPass } from "../../db/pools/pass.ts";
import { recordTries } from "../../db/tries.ts";
import { AccountBook, ask, ended, started } from "../support/account-book.ts";

let book: AccountBook;
beforeAll(async () => {
  book = await AccountBook.make();
  for (const name of ["a", "b", "c"]) await book.addDag(name, name);
});
afterAll(async () => await book.db.drop());
beforeEach(async () => {
  await book.clear();
  await book.db.pool.query("truncate app.alert, app.stop, app.spent");
  for (const name of ["a", "b", "c"]) await book.addDag(name, name);
});

async function shared(own: Readonly<Record<string, number>>, capacity = 45): Promise<void> {
  await book.setPool("p", capacity);
  await book.setAccount("cohort:all", capacity);
  for (const [name, slots] of Object.entries(own))
    await book.setAccount(`tenant:${name}`, slots, { cohort: "all" });
}

/** A run of the tenant's dag asks for so many tries at once. */
async function want(tenant: string, count: number, from = 0): Promise<number> {
  const run = await book.newRun(tenant, "scheduled");
  await advance(
    book.db.pool,
    [run],
    [],
    Array.from({ length: count }, (_, i) => ask(run, `t${String(from + i).padStart(2, "0")}`, "p")),
  );
  await admissionPass(book.db.pool);
  return run;
}

async function use(): Promise<Record<string, number>> {
  const { rows } = await book.db.pool.query<{ dag_id: string; used: number }>(
    `select r.dag_id, count(*)::int as used from app.lease l join app.dag_run r using (run)
     where l.task_id <> '' and l.granted_at is not null group by 1`,
  );
  return Object.fromEntries(rows.map((row) => [row.dag_id, row.used]));
}

const asked = async (): Promise<{ run: number; task_id: string; give_back: string }[]> =>
  (await book.db.pool.query("select run, task_id, give_back from app.stop order by task_id")).rows;

/** What workers do with those who are asked: their tries end as requeued, and their runs ask again. */
async function handBack(): Promise<void> {
  for (const { run, task_id } of await asked()) {
    await recordTries(book.db.pool, [started(run, task_id)], [ended(run, task_id, 1, "requeued")]);
    await advance(book.db.pool, [run], [], [ask(run, task_id, "p", 1, 1, 2)]);
  }
  await book.db.pool.query("delete from app.stop");
  await admissionPass(book.db.pool);
}

describe("B12 B13: tenants share what is idle, and take it back", () => {
  it("B13: A 20, B 15, C 10, capacity 45: C borrows 10, B takes them back at once, no try used up, C's owner is told", async () => {
    await shared({ a: 20, b: 15, c: 10 });
    await want("a", 20);
    await want("b", 5);
    await want("c", 25);
    expect(await use()).toEqual({ a: 20, b: 5, c: 20 });
    expect((await book.tasks("waiting")).length).toBe(5);
    await want("b", 10, 50);
    const stops = await asked();
    expect(stops).toHaveLength(10);
    expect(stops[0]!.give_back).toBe(
      'the try gave its slots back: tenant "b" needs what it had lent; it runs again, and no retry is used up',
    );
    expect(await use()).toEqual({ a: 20, b: 5, c: 20 });
    // Asking again asks nobody else.
    await admissionPass(book.db.pool);
    expect(await asked()).toHaveLength(10);
    await handBack();
    expect(await use()).toEqual({ a: 20, b: 15, c: 10 });
    const { rows } = await book.db.pool.query("select kind, count(*)::int as n from app.alert group by kind");
    expect(rows).toEqual([{ kind: "preempted", n: 10 }]);
    const { rows: reasons } = await book.db.pool.query<{ reason: string }>(
      "select distinct reason from app.lease where granted_at is null and task_id <> ''",
    );
    expect(reasons.map((row) => row.reason)).toEqual(['pool "p" is full: 45 of 45 in use, needs 1']);
  });

  it("B12: within its own slots a tenant is granted in the call that asks", async () => {
    await shared({ a: 20, b: 15, c: 10 });
    const run = await book.newRun("a", "scheduled");
    const answer = await advance(book.db.pool, [run], [], [ask(run, "x", "p"), ask(run, "y", "p")]);
    expect([answer.grants.length, answer.undecided]).toEqual([2, false]);
  });

  it("B12: most bounds what is borrowed; without a cohort nothing is", async () => {
    await shared({ a: 5, b: 15 });
    await book.setAccount("tenant:a", 5, { cohort: "all", most: 8 });
    await book.setAccount("tenant:c", 4);
    await want("a", 12);
    await want("c", 6);
    expect(await use()).toEqual({ a: 8, c: 4 });
    const { rows } = await book.db.pool.query<{ reason: string }>(
      "select distinct reason from app.lease where granted_at is null and task_id <> '' order by 1",
    );
    expect(rows.map((row) => row.reason)).toEqual([
      'tenant "a" is full: 8 of 8 in use, needs 1',
      'tenant "c" is full: 4 of 4 in use, needs 1',
    ]);
  });

  it("B12: compute-hours are cores × try time; a tenant that used up its day waits for midnight, and says so", async () => {
    await shared({ a: 5, b: 5 });
    await book.setAccount("tenant:a", 5, { cohort: "all", core_hours: 2 });
    const run = await want("a", 1);
    await book.db.pool.query(
      "update app.lease set granted_at = app.now() - interval '30 minutes', cores = 4.5 where task_id = 't00'",
    );
    const hours = async (): Promise<number> =>
      (await book.db.pool.query<{ h: number }>("select app.core_hours_today('a') as h")).rows[0]!.h;
    // Half an hour ago may have been yesterday.
    const midnight = new Date().setUTCHours(0, 0, 0, 0);
    const counted = Math.min(30, (Date.now() - midnight) / 60_000);
    expect(await hours()).toBeCloseTo((counted / 60) * 4.5, 1);
    await recordTries(book.db.pool, [started(run, "t00")], [ended(run, "t00")]);
    expect(await hours()).toBeCloseTo((counted / 60) * 4.5, 1);
    await book.db.pool.query("select app.roll_spent()");
    expect(await hours()).toBeCloseTo((counted / 60) * 4.5, 1);
    await book.db.pool.query("insert into app.spent (tenant, core_ms) values ('a', 2.25 * 3600000)");
    await book.db.pool.query("select app.roll_spent()");
    await want("a", 1);
    expect(await book.reasonOf("t00")).toBe(
      'tenant "a" has used up its 2 core-hours of today; it goes on at 00:00 UTC',
    );
    await want("b", 1);
    expect((await use())["b"]).toBe(1);
    await book.setAccount("tenant:a", 5, { cohort: "all", core_hours: 9 });
    await book.db.pool.query("select app.roll_spent()");
    expect(await admissionPass(book.db.pool)).toBe(1);
  });

  it("B12: recent use counts by half after an hour, and decides between borrowers", async () => {
    await shared({ a: 10, b: 10, c: 25 });
    await book.db.pool.query(
      "insert into app.spent (tenant, at, core_ms) values ('a', app.now(), 36e6), ('b', app.now() - interval '1 hour', 36e6)",
    );
    const recent = async (name: string): Promise<number> =>
      (await book.db.pool.query<{ r: number }>("select app.recent_use($1, 3600000) as r", [name])).rows[0]!.r;
    expect((await recent("a")) / (await recent("b"))).toBeCloseTo(2, 2);
    await book.db.pool.query("update app.account set slots = 0 where key = 'pool:p'");
    await want("a", 40);
    await want("b", 40);
    await book.setPool("p", 45);
    await admissionPass(book.db.pool);
    const used = await use();
    expect(used["a"]! + used["b"]!).toBe(45);
    expect(used["b"]).toBeGreaterThan(used["a"]!);
  });

  it("B12 B10: critical goes first; best effort and backfills get one slot in ten of those granted while they wait", async () => {
    await book.setPool("p", 1);
    await book.addDag("low", null, 0);
    await book.addDag("top", null, 2);
    const holder = await book.newRun("d");
    await advance(book.db.pool, [holder], [], [ask(holder, "holder", "p")]);
    const low = await book.newRun("low", "backfill");
    const top = await book.newRun("top", "scheduled");
    const names = (letter: string, count: number) =>
      Array.from({ length: count }, (_, i) => `${letter}${String(i).padStart(2, "0")}`);
    await advance(
      book.db.pool,
      [low],
      [],
      names("low", 5).map((id) => ask(low, id, "p", 1, 100)),
    );
    await advance(
      book.db.pool,
      [top],
      [],
      names("top", 30).map((id) => ask(top, id, "p")),
    );
    const order: string[] = [];
    let last = { run: holder, id: "holder" };
    for (let i = 0; i < 22; i++) {
      await recordTries(book.db.pool, [started(last.run, last.id)], [ended(last.run, last.id)]);
      await admissionPass(book.db.pool);
      const [id] = await book.tasks("granted");
      last = { run: id!.startsWith("low") ? low : top, id: id! };
      order.push(id!.slice(0, 3));
    }
    expect(order.filter((kind) => kind === "low")).toHaveLength(2);
    expect(order.slice(0, 9)).toEqual(Array.from({ length: 9 }, () => "top"));
  });

  it("B17: runs by hand cannot take a pool's floor, also at once; scheduled ones can", async () => {
    await book.setPool("p", 10);
    await book.setAccount("adhoc:p", 4);
    const byHand = await book.newRun("d");
    const names = Array.from({ length: 6 }, (_, i) => `h${i}`);
    await advance(
      book.db.pool,
      [byHand],
      [],
      names.map((id) => ask(byHand, id, "p")),
    );
    await admissionPass(book.db.pool);
    expect(await book.tasks("granted")).toEqual(["h0", "h1", "h2", "h3"]);
    expect(await book.reasonOf("h5")).toBe(
      'what runs by hand may take of pool "p" is in use: 4 of 4, needs 1',
    );
    const cron = await book.newRun("d", "scheduled");
    const six = Array.from({ length: 6 }, (_, i) => `s${i}`);
    await advance(
      book.db.pool,
      [cron],
      [],
      six.map((id) => ask(cron, id, "p")),
    );
    await admissionPass(book.db.pool);
    expect(await book.used("p")).toBe(10);
    // The pool shrinks: scheduled work that waits takes back what is left of its floor from runs by hand.
    await book.setAccount("adhoc:p", 2);
    await advance(book.db.pool, [cron], [], [ask(cron, "late", "p")]);
    await admissionPass(book.db.pool);
    expect((await asked()).map((row) => row.task_id)).toHaveLength(1);
    expect((await asked())[0]!.give_back).toContain('scheduled work takes back its floor of pool "p"');
  });
});
