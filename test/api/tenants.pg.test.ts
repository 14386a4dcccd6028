import { afterAll, beforeAll, expect, test } from "vitest";
import { TenantList } from "../../api/contracts-tenants.ts";
import { advance } from "../../db/pools/advance.ts";
import { admissionPass } from "../../db/pools/pass.ts";
import { recordTries } from "../../db/tries.ts";
import { AccountBook, ask, ended, started } from "../support/account-book.ts";
import { get, testApp, type TestApp } from "./support.ts";

let book: AccountBook;
let app: TestApp;

beforeAll(async () => {
  book = await AccountBook.make();
  app = testApp({ db: book.db.pool });
});
afterAll(async () => await book.db.drop());

test("B12: no tenants where no limits are applied", async () => {
  expect(await get(app, "/tenants", TenantList)).toEqual({ tenants: [], loans: [] });
});

test("B12: what is whose, what they use, borrow and lend, core-hours against the quota, and who lends to whom (B13)", async () => {
  await book.setPool("p", 100);
  await book.setAccount("cohort:all", 45);
  for (const [tenant, slots] of [
    ["A", 20],
    ["B", 15],
    ["C", 10],
  ] as const) {
    await book.setAccount(`tenant:${tenant}`, slots, {
      cohort: "all",
      ...(tenant === "C" && { core_hours: 1, most: 20 }),
    });
    await book.addDag(`dag_${tenant}`, tenant);
  }
  await book.setAccount("tenant:alone", 0);
  const work = async (tenant: string, count: number): Promise<number> => {
    const run = await book.newRun(`dag_${tenant}`);
    const ids = Array.from({ length: count }, (_, i) => `${tenant}${i}`);
    await advance(
      book.db.pool,
      [run],
      [],
      ids.map((id) => ask(run, id, "p")),
    );
    await admissionPass(book.db.pool);
    return run;
  };
  await work("B", 5);
  const run = await work("C", 25);
  const { tenants, loans } = await get(app, "/tenants", TenantList);
  expect(loans).toEqual([{ from: "A", to: "C", cohort: "all", slots: 10 }]);
  expect(tenants.map((one) => [one.name, one.slots, one.used, one.borrowed, one.lent, one.waiting])).toEqual([
    ["A", 20, 0, 0, 10, 0],
    ["B", 15, 5, 0, 0, 0],
    ["C", 10, 20, 10, 0, 5],
    ["alone", 0, 0, 0, 0, 0],
  ]);
  expect(tenants[2]).toMatchObject({
    cohort: "all",
    most: 20,
    share: 2,
    coreHoursQuota: 1,
    exhaustedUntil: null,
  });
  expect(tenants[3]).toMatchObject({ cohort: null, share: null, coreHoursQuota: null });
  await book.db.pool.query(
    "update app.lease set granted_at = granted_at - interval '2 hours' where task_id = 'C0'",
  );
  await recordTries(book.db.pool, [started(run, "C0")], [ended(run, "C0")]);
  await book.db.pool.query("select app.roll_spent()");
  const later = (await get(app, "/tenants", TenantList)).tenants[2]!;
  expect(later.coreHoursToday).toBeGreaterThan(0);
  expect(later.recentUse).toBeGreaterThan(0);
});
