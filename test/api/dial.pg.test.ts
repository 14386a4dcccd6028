import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from "vitest";
import { DialPreview, DialState, DialTurned } from "../../api/contracts-dial.ts";
import { advance } from "../../db/pools/advance.ts";
import { admissionPass } from "../../db/pools/pass.ts";
import { createRuns } from "../../db/runs.ts";
import { AccountBook, ask } from "../support/account-book.ts";
import { get, post, problemOf, testApp, type TestApp } from "./support.ts";

let book: AccountBook;
let app: TestApp;

beforeAll(async () => {
  book = await AccountBook.make();
  app = testApp({ db: book.db.pool });
});
afterAll(async () => await book.db.drop());
beforeEach(async () => {
  await book.clear();
  await book.db.pool.query("truncate app.alert, app.stop, app.dial, app.audit");
  await book.addDag("low", null, 0);
  await book.setPool("p", 10);
});

const send = async (method: "PUT" | "DELETE", body: unknown): Promise<Response> =>
  await app.request("/api/v1/dial", {
    method,
    body: JSON.stringify(body),
    headers: { "Content-Type": "application/json", "X-Meridian-User": "ada%40cli" },
  });
const turned = async (response: Response): Promise<DialTurned> => {
  expect(response.status).toBe(200);
  return DialTurned.parse(await response.json());
};
const show = async () => await get(app, "/dial", DialState);

/** Four tries of an ordinary dag and two of the lowest class, asked for at once. */
async function work(): Promise<void> {
  const [mid, low] = [await book.newRun("d"), await book.newRun("low")];
  await advance(
    book.db.pool,
    [mid],
    [],
    ["a", "b", "c", "d"].map((id) => ask(mid, id, "p", 1, 5)),
  );
  await advance(
    book.db.pool,
    [low],
    [],
    ["x", "y"].map((id) => ask(low, id, "p")),
  );
  await admissionPass(book.db.pool);
}

describe("B16: the emergency dial over the API", () => {
  it("B16: turned with who and why, in force at once, lifted and felt at once, its turns kept", async () => {
    expect(await show()).toEqual({ inForce: null, turns: [] });
    const set = await turned(await send("PUT", { tries: 2, reason: " warehouse is slow " }));
    expect(set).toMatchObject({
      inForce: {
        tries: 2,
        belowClass: null,
        who: "ada@cli",
        reason: "warehouse is slow",
        running: 0,
        held: 0,
      },
      preempted: 0,
    });
    await work();
    expect(await book.tasks("granted")).toHaveLength(2);
    expect((await show()).inForce).toMatchObject({ running: 2, held: 4 });
    const off = await turned(await send("DELETE", { reason: "it is back" }));
    expect(off.inForce).toBeNull();
    expect(await book.tasks("granted")).toHaveLength(6);
    expect((await show()).turns.map(({ tries, reason }) => [tries, reason])).toEqual([
      [null, "it is back"],
      [2, "warehouse is slow"],
    ]);
  });

  it("B16: a preview says what it would hold; preempting asks just those back; undo goes one turn back", async () => {
    await work();
    expect(await get(app, "/dial/preview?belowClass=standard&tries=3", DialPreview)).toEqual({
      running: 6,
      wouldHold: 0,
      wouldGiveBack: 3,
    });
    const wish = { belowClass: "standard", tries: 3, reason: "month end", preempt: true };
    expect(await turned(await send("PUT", wish))).toMatchObject({
      preempted: 3,
      inForce: { belowClass: "standard", tries: 3 },
    });
    await turned(await send("PUT", { belowPriority: 5, reason: "more" }));
    const undone = await turned(await post(app, "/dial/undo"));
    expect(undone.inForce).toMatchObject({
      belowClass: "standard",
      tries: 3,
      belowPriority: null,
      reason: "undone, as before: month end",
    });
  });

  it("B16: it composes with a pause: a paused dag's runs stay held when the dial is lifted", async () => {
    await turned(await send("PUT", { tries: 1, reason: "slow" }));
    await book.db.pool.query("update app.account set slots = 0 where key = 'runs:low'");
    const at = "2026-05-09T00:00:00Z";
    const dates = { logical_at: at, start_at: at, end_at: at };
    const made = { dag_id: "low", run_id: at, run_type: "scheduled" as const, version: book.version };
    const [held] = await createRuns(book.db.pool, [{ ...made, ...dates, who: "clock", first: null }]);
    await book.db.pool.query("select app.set_paused('low', true, 'bob', 'broken')");
    await book.db.pool.query("update app.account set slots = 10 where key = 'runs:low'");
    const run = await book.newRun("d");
    await advance(book.db.pool, [run], [], [ask(run, "a", "p"), ask(run, "b", "p")]);
    await turned(await send("DELETE", { reason: "over" }));
    expect(await book.tasks("granted")).toEqual(["a", "b"]);
    const place = async () =>
      (
        await book.db.pool.query<{ granted: boolean; reason: string | null }>(
          "select granted_at is not null as granted, reason from app.lease where run = $1",
          [held!.run],
        )
      ).rows[0];
    expect(await place()).toEqual({ granted: false, reason: "its dag is paused" });
    // And the other way round: unpaused under a dial, the run has its place and its tries wait.
    await turned(await send("PUT", { tries: 0, reason: "stop" }));
    await book.db.pool.query("select app.set_paused('low', false, 'bob', null)");
    await admissionPass(book.db.pool);
    expect(await place()).toEqual({ granted: true, reason: null });
  });
});

test.each([
  [{ reason: "x" }, "says no bound: expected at least one of tries, belowClass, belowPriority"],
  [{ tries: null, reason: "x" }, "says no bound"],
  [{ tries: 1 }, "reason"],
  [{ tries: 1, reason: "  " }, "reason: expected why, in words that others see"],
  [{ tries: -1, reason: "x" }, "tries"],
  [{ belowClass: "best_effort", reason: "x" }, "belowClass"],
  [{ tries: 1, reason: "x", preemt: true }, "preemt"],
])("B16: refused with what, where and what was expected: %j", async (body, text) => {
  const problem = await problemOf(await send("PUT", body), 400);
  expect(problem.code).toBe("bad_request");
  expect(problem.detail).toContain(text);
  expect(await show()).toEqual({ inForce: null, turns: [] });
});

test("B16: nothing to lift, nothing to undo", async () => {
  expect((await problemOf(await send("DELETE", { reason: "x" }), 409)).code).toBe("dial_off");
  expect((await problemOf(await post(app, "/dial/undo"), 409)).code).toBe("dial_never_turned");
  expect((await problemOf(await send("DELETE", {}), 400)).detail).toContain("reason");
});
