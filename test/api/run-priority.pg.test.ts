import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { RunPriority } from "../../api/contracts-commands.ts";
import { advance } from "../../db/pools/advance.ts";
import { admissionPass } from "../../db/pools/pass.ts";
import { createRuns } from "../../db/runs.ts";
import { recordTries } from "../../db/tries.ts";
import { AccountBook, ask, ended, started } from "../support/account-book.ts";
import { post, problemOf, testApp, type TestApp } from "./support.ts";

let book: AccountBook;
let app: TestApp;

beforeAll(async () => {
  book = await AccountBook.make();
  app = testApp({ db: book.db.pool });
});
afterAll(async () => await book.db.drop());
beforeEach(async () => {
  await book.clear();
  await book.db.pool.query(
    "truncate app.audit; delete from app.dag_run; delete from app.run_key; delete from app.cell",
  );
  await book.setPool("p", 1);
});

/** A run that waits for its place, when its dag has none left. */
async function queued(day: number): Promise<{ run: number; path: string }> {
  const at = `2026-05-0${day}T00:00:00Z`;
  const runId = `2026-05-0${day}T00-00-00Z`;
  const dates = { logical_at: at, start_at: at, end_at: at, version: book.version };
  const [made] = await createRuns(book.db.pool, [
    { dag_id: "d", run_id: runId, run_type: "scheduled", ...dates, who: "clock", first: null },
  ]);
  return { run: made!.run, path: `/dags/d/runs/${runId}/priority` };
}
const move = async (path: string, priority: number): Promise<RunPriority> => {
  const response = await post(app, path, { priority }, { "X-Meridian-User": "ada" });
  expect(response.status).toBe(200);
  return RunPriority.parse(await response.json());
};
const leases = async (run: number) =>
  (
    await book.db.pool.query<{ task_id: string; priority: number; granted: boolean }>(
      "select task_id, priority, granted_at is not null as granted from app.lease where run = $1 order by 1",
      [run],
    )
  ).rows.map(({ task_id, priority, granted }) => [task_id, priority, granted]);

describe("B11: the priority of a run, moved by hand", () => {
  it("B11: a run that waits for its place goes ahead of older ones, and the move is in the audit", async () => {
    await book.db.pool.query("update app.account set slots = 0 where key = 'runs:d'");
    const [first, second] = [await queued(1), await queued(2)];
    expect(await move(second.path, 7)).toMatchObject({ priority: 7, moved: 1 });
    await book.db.pool.query("update app.account set slots = 1 where key = 'runs:d'");
    await admissionPass(book.db.pool);
    expect(await leases(first.run)).toEqual([["", 5, false]]);
    expect(await leases(second.run)).toEqual([["", 12, true]]);
    const { rows } = await book.db.pool.query("select who, action, dag_id, run_id, detail from app.audit");
    expect(rows).toEqual([
      {
        who: "ada",
        action: "set_priority",
        dag_id: "d",
        run_id: "2026-05-02T00-00-00Z",
        detail: { priority: 7, before: 0 },
      },
    ]);
  });

  it("B11: its tries that wait move, what it asks for later has it too, and 0 takes it back", async () => {
    const [first, second] = [await queued(1), await queued(2)];
    await advance(book.db.pool, [first.run], [], [ask(first.run, "a", "p"), ask(first.run, "b", "p")]);
    await advance(book.db.pool, [second.run], [], [ask(second.run, "x", "p"), ask(second.run, "y", "p")]);
    await admissionPass(book.db.pool);
    expect(await book.tasks("granted")).toEqual(["a"]);
    expect(await move(second.path, 3)).toMatchObject({ moved: 2 });
    await recordTries(book.db.pool, [started(first.run, "a")], [ended(first.run, "a")]);
    await admissionPass(book.db.pool);
    expect(await book.tasks("granted")).toEqual(["x"]);
    await advance(book.db.pool, [second.run], [], [ask(second.run, "z", "p", 1, 2)]);
    expect(await leases(second.run)).toContainEqual(["z", 5, false]);
    expect(await move(second.path, 0)).toMatchObject({ moved: 2 });
    // What has its slots keeps what it asked with.
    expect((await leases(second.run)).slice(1)).toEqual([
      ["x", 4, true],
      ["y", 1, false],
      ["z", 2, false],
    ]);
    await move(second.path, 1_000_000);
    await advance(book.db.pool, [second.run], [], [ask(second.run, "most", "p", 1, 2_147_483_647)]);
    expect(await leases(second.run)).toContainEqual(["most", 2_147_483_647, false]);
  });

  it("B11: a run that was over and is opened again asks with it; one that is over is refused", async () => {
    const { run, path } = await queued(3);
    await move(path, 4);
    await book.close(run);
    const problem = await problemOf(await post(app, path, { priority: 1 }), 409);
    expect(problem).toMatchObject({
      code: "run_over",
      detail: expect.stringContaining('of dag "d" is over'),
    });
    await book.db.pool.query("select app.reopen_run($1, '[]', '{}', null)", [run]);
    expect(await leases(run)).toEqual([["", 14, true]]);
    const bad = await problemOf(await post(app, path, { priority: 1.5 }), 400);
    expect(bad.detail).toContain("priority");
    const missing = path.replace("2026-05-03", "2026-06-03");
    expect((await problemOf(await post(app, missing, { priority: 1 }), 404)).code).toBe("no_run");
  });
});
