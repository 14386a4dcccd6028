import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { advance } from "../../db/pools/advance.ts";
import { readDials, setDial, undoDial, type DialSetting } from "../../db/pools/dial.ts";
import { admissionPass } from "../../db/pools/pass.ts";
import { recordTries } from "../../db/tries.ts";
import { AccountBook, ask, ended, started } from "../support/account-book.ts";

let book: AccountBook;
beforeAll(async () => {
  book = await AccountBook.make();
  await book.addDag("low", null, 0);
  await book.addDag("top", null, 2);
});
afterAll(async () => await book.db.drop());
beforeEach(async () => {
  await book.clear();
  await book.db.pool.query("truncate app.alert, app.stop, app.dial, app.audit");
  for (const id of ["low", "top"]) await book.addDag(id, null, id === "low" ? 0 : 2);
  await book.setPool("p", 10);
  await book.setPool("q", 10);
});

const setting = (more: Partial<DialSetting>): DialSetting => ({
  tries: null,
  belowClass: null,
  belowPriority: null,
  who: "ada",
  reason: "warehouse down",
  ...more,
});
const ids = (letter: string, count: number) => Array.from({ length: count }, (_, i) => `${letter}${i}`);

describe("B16: the emergency dial", () => {
  it("B16: no grant goes past it, by no path, once it was turned; over all pools", async () => {
    const run = await book.newRun();
    await advance(book.db.pool, [run], [], [ask(run, "a", "p"), ask(run, "b", "q")]);
    await setDial(book.db.pool, setting({ tries: 3 }), false);
    const { grants } = await advance(
      book.db.pool,
      [run],
      [],
      [...ids("x", 4).map((id) => ask(run, id, "p")), ask(run, "y", "q")],
    );
    await admissionPass(book.db.pool);
    expect(grants).toEqual([]);
    expect(await book.tasks("granted")).toHaveLength(3);
    expect(await book.reasonOf("y")).toBe(
      "the emergency dial (ada: warehouse down) lets 3 tries run at once, and 3 do",
    );
    await recordTries(book.db.pool, [started(run, "a")], [ended(run, "a")]);
    await admissionPass(book.db.pool);
    expect(await book.tasks("granted")).toHaveLength(3);
    await setDial(book.db.pool, setting({ reason: "over" }), false);
    await admissionPass(book.db.pool);
    expect(await book.tasks("waiting")).toEqual([]);
  });

  it("B16: a chain's next task, asked for with the record of its upstream, is held, too", async () => {
    const run = await book.newRun();
    await advance(book.db.pool, [run], [], [ask(run, "a", "p")]);
    await setDial(book.db.pool, setting({ tries: 0 }), false);
    const next = { run, task_id: "b", after: ["a"], account: "pool:p", slots: 1, priority: 1 };
    const { grants } = await recordTries(book.db.pool, [started(run, "a")], [ended(run, "a")], [next]);
    expect(grants).toEqual([]);
    await admissionPass(book.db.pool);
    expect(await book.tasks("granted")).toEqual([]);
  });

  it("B16: below a class or priority nothing begins, and preempting hands back what runs, the owners told, the rest goes on", async () => {
    const low = await book.newRun("low");
    const mid = await book.newRun("d");
    const top = await book.newRun("top");
    for (const [run, letter] of [
      [low, "l"],
      [mid, "m"],
      [top, "t"],
    ] as const)
      await advance(
        book.db.pool,
        [run],
        [],
        ids(letter, 2).map((id) => ask(run, id, "p", 1, letter === "m" ? 5 : 1)),
      );
    await admissionPass(book.db.pool);
    expect(await book.tasks("granted")).toHaveLength(6);
    const { preempted } = await setDial(book.db.pool, setting({ belowClass: 1, tries: 3 }), true);
    // Both of the lowest class, and of the rest one more than may run: the one of the lower class that lost least.
    expect(preempted).toBe(3);
    const { rows } = await book.db.pool.query<{ task_id: string; give_back: string }>(
      "select task_id, give_back from app.stop order by 1",
    );
    expect(rows.map((row) => row.task_id)).toEqual(["l0", "l1", expect.stringMatching(/^m/)]);
    expect(rows[0]!.give_back).toBe(
      "the try gave its slots back: the emergency dial (ada: warehouse down) holds it back; it runs again when that lets it, and no retry is used up",
    );
    expect((await book.db.pool.query("select from app.alert where kind = 'preempted'")).rowCount).toBe(3);
    await recordTries(book.db.pool, [started(low, "l0")], [ended(low, "l0", 1, "requeued")]);
    await advance(book.db.pool, [low], [], [ask(low, "l0", "p", 1, 1, 2)]);
    await admissionPass(book.db.pool);
    expect(await book.reasonOf("l0")).toBe(
      "the emergency dial (ada: warehouse down) holds back what is below class standard",
    );
    expect((await setDial(book.db.pool, setting({ belowClass: 1, tries: 3 }), true)).preempted).toBe(0);
  });

  it("B16: undo brings the bounds before back, each turn is kept with who and why, and in the audit", async () => {
    expect(await undoDial(book.db.pool, "eve")).toBeNull();
    await setDial(book.db.pool, setting({ tries: 5, reason: "slow" }), false);
    await setDial(book.db.pool, setting({ tries: 1, reason: "slower" }), false);
    await undoDial(book.db.pool, "eve");
    expect(await readDials(book.db.pool, 1)).toMatchObject([
      { tries: 5, who: "eve", reason: "undone, as before: slow" },
    ]);
    await setDial(book.db.pool, setting({ reason: "off" }), false);
    await undoDial(book.db.pool, "eve");
    expect(await readDials(book.db.pool, 9)).toHaveLength(5);
    const { rows } = await book.db.pool.query<{ action: string }>(
      "select action from app.audit where action like '%dial' order by id",
    );
    expect(rows.map((row) => row.action)).toEqual([
      "set_dial",
      "set_dial",
      "undo_dial",
      "set_dial",
      "undo_dial",
    ]);
  });

  it("a stop by hand is more than a request to give back, whichever comes first", async () => {
    const run = await book.newRun();
    await advance(book.db.pool, [run], [], [ask(run, "a", "p"), ask(run, "b", "p")]);
    const stop = (task_id: string) => JSON.stringify([{ run, task_id, map_index: -1, try: 1 }]);
    await book.db.pool.query("select app.stop_tries($1)", [stop("a")]);
    await setDial(book.db.pool, setting({ tries: 0 }), true);
    await book.db.pool.query("select app.stop_tries($1)", [stop("b")]);
    const { rows } = await book.db.pool.query("select task_id, give_back from app.stop order by 1");
    expect(rows).toEqual([
      { task_id: "a", give_back: null },
      { task_id: "b", give_back: null },
    ]);
  });
});
