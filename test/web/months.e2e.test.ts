import { describe, expect, test } from "vitest";
import { whyNoBrowser } from "./browser.ts";
import { addLargeDag } from "./fixtures/large.ts";
import { addRun, setCell, type FixtureRun } from "./fixtures/world.ts";
import { keepPicture } from "./look.ts";
import { LIVE_MS, useDesk } from "./support.ts";

describe.skipIf(whyNoBrowser() !== null)("grid over months", () => {
  const desk = useDesk();
  const cell = (label: string | RegExp) => desk.page.getByRole("gridcell", { name: label });
  const details = () => desk.page.getByRole("complementary", { name: "Details" });
  const names = async () =>
    (await desk.page.getByRole("rowheader").allInnerTexts()).map((name) => name.replace(/[▸▾\d\n]/g, ""));
  const columns = async () => Number(await desk.page.getByRole("grid").getAttribute("aria-colcount")) - 1;
  const liveRun = (): FixtureRun => desk.world.dags.get("sales_daily")!.runs.at(-1)!;

  test("F10: groups fold to one row that sums them up; the URL keeps it; a cell of a group opens the group", async () => {
    await desk.open("/dags/warehouse_groups");
    await cell(/^group extract, .*: failed; 1 failed, 3 success$/).waitFor();
    await desk.page.getByRole("rowheader", { name: "files" }).click();
    await desk.page.getByRole("rowheader", { name: "read" }).waitFor({ state: "detached" });
    await desk.expectQuery({ fold: ["extract.files"] });
    await desk.page.reload();
    await cell(/^group extract.files, .*: failed; 1 failed, 1 success$/).waitFor();
    await expect
      .poll(names)
      .toEqual(["begin", "extract", "orders", "customers", "files", "load", "clean", "store", "report"]);
    await keepPicture(desk.page, "grid-groups");
    await cell(/^group extract.files, .*: failed/).click();
    await details().getByText("group of 2 tasks").waitFor();
    await details().getByRole("link", { name: "extract.files.read" }).click();
    await details().getByRole("heading", { name: "extract.files.read" }).waitFor();
    await desk.page.getByRole("button", { name: "Fold groups" }).click();
    await desk.page.getByRole("rowheader", { name: "orders" }).waitFor({ state: "detached" });
    await desk.page.getByRole("button", { name: "Unfold groups" }).click();
    await desk.page.getByRole("rowheader", { name: "orders" }).waitFor();
    await desk.expectQuery({ fold: [] });
  });

  test("runs by hand within one minute have names of their own", async () => {
    await desk.open("/dags/warehouse_groups");
    const byHand = desk.page.getByRole("columnheader", { name: /triggered by hand/ });
    await byHand.first().waitFor();
    const labels = () => byHand.evaluateAll((all) => all.map((one) => one.getAttribute("aria-label") ?? ""));
    await expect
      .poll(async () => (await labels()).map((label) => /\d\d:\d\d[\d:.]*(?=: )/.exec(label)?.[0]))
      .toEqual(["14:05:03", "14:05:32.120", "14:05:32.870"]);
    await byHand.last().click();
    await details()
      .getByRole("heading", { name: /14:05:32\.870$/ })
      .waitFor();
  });

  test("C1: older runs are read when one scrolls to them, and what one looks at stays in its place", async () => {
    addLargeDag(desk.world, "large", 30, 700);
    await desk.open("/dags/large?runs=92");
    await cell(/./).first().waitFor();
    await expect.poll(columns).toBe(92);
    await desk.page.mouse.move(600, 500);
    await desk.page.mouse.wheel(-500, 0);
    const grid = desk.page.getByRole("grid");
    const fromNewest = () => grid.evaluate((one) => one.scrollWidth - one.scrollLeft - one.clientWidth);
    await expect.poll(fromNewest).toBe(500);
    await expect.poll(columns).toBe(292);
    // 200 columns came in before what is in sight, which is as far from the newest as it was.
    await expect.poll(fromNewest).toBe(500);
    await expect
      .poll(async () => (await desk.page.mouse.wheel(-3000, 0), columns()), { timeout: 20_000 })
      .toBe(700);
    await desk.page.mouse.wheel(-30_000, 0);
    const first = cell(/^stage_0\.task_0, /).first();
    await expect.poll(() => first.getAttribute("aria-colindex")).toBe("2");
    await expect.poll(() => desk.page.getByRole("button", { name: "Older" }).isDisabled()).toBe(true);
  });

  test("Older leads past what is in sight, by a URL that can be gone back from", async () => {
    await desk.open("/dags/exchange_rates");
    const first = desk.page.getByRole("columnheader", { name: /^Run / }).first();
    await first.waitFor();
    const newest = await desk.page
      .getByRole("columnheader", { name: /^Run / })
      .last()
      .getAttribute("aria-label");
    await desk.page.getByRole("button", { name: "Older" }).click();
    await desk.page.getByRole("columnheader", { name: newest! }).waitFor({ state: "detached" });
    await expect.poll(desk.address).toMatch(/[?&]before=\d+\.\d+&/);
    await desk.page.goBack();
    await desk.page.getByRole("columnheader", { name: newest! }).waitFor();
  });

  test("F9: a link to a run of long ago shows it in the grid", async () => {
    const old = desk.world.dags.get("sales_daily")!.runs[3]!;
    await desk.open(`/dags/sales_daily?run=${old.detail.runId}&task=load`);
    await desk.page
      .locator(`[role=gridcell][aria-selected=true][aria-label*="${old.detail.logicalDate.slice(0, 10)}"]`)
      .waitFor();
  });

  test("letters move as arrows do, from anywhere on the page; x folds; digits choose the view", async () => {
    await desk.open("/dags/warehouse_groups");
    const grid = desk.page.getByRole("grid");
    await cell(/./).first().waitFor();
    for (const key of ["j", "j", "h"]) await desk.page.keyboard.press(key);
    const place = async () =>
      desk.page.locator(`#${await grid.getAttribute("aria-activedescendant")}`).getAttribute("aria-label");
    await expect.poll(place).toMatch(/^group extract, .*14:05:32\.120: success/);
    await desk.page.keyboard.press("x");
    await desk.page.getByRole("rowheader", { name: "orders" }).waitFor({ state: "detached" });
    await desk.page.keyboard.press("Enter");
    await details().getByText("group of 4 tasks").waitFor();
    await desk.page.keyboard.press("5");
    await desk.page.getByRole("grid").waitFor({ state: "detached" });
    await desk.expectQuery({ show: "details" });
    await desk.page.keyboard.press("Escape");
    await desk.page.getByRole("grid").waitFor();
    await desk.expectQuery({ group: "extract" });
  });

  // A machine crowded by other tests may be late once.
  test("C1: a cell's change is seen within 1 s, as the API tells it", { retry: 2 }, async () => {
    let asked = 0;
    let askedAt = Date.now();
    desk.page.on("request", (request) => {
      // Older columns are read whenever the left edge is in sight, by whatever redraw shows it.
      if (!request.url().includes("/grid") || request.url().includes("before=")) return;
      asked += 1;
      askedAt = Date.now();
    });
    await desk.open("/dags/sales_daily");
    await cell(/^load, .*: not started$/).waitFor();
    // From here on nothing is asked for: what is seen was told.
    await expect.poll(() => Date.now() - askedAt).toBeGreaterThan(1500);
    asked = 0;
    setCell(liveRun(), { taskId: "load", state: "running", startedAt: Date.now() });
    await cell(/^load, .*: running$/).waitFor({ timeout: 1000 });
    expect(asked).toBe(0);
    const run = addRun(desk.world.dags.get("sales_daily")!, {
      at: Date.now(),
      lengthMs: 0,
      state: "running",
      startedAt: Date.now(),
      tookMs: null,
      runType: "manual",
    });
    setCell(run, { taskId: "load", state: "failed", startedAt: Date.now(), tookMs: 5 });
    await desk.page
      .getByRole("columnheader", { name: /: running, triggered by hand/ })
      .waitFor({ timeout: 1000 });
    await cell(/^load, .*: failed$/)
      .last()
      .waitFor({ timeout: 1000 });
  });

  test("without the stream, and when it is lost, the page asks instead", { retry: 2 }, async () => {
    desk.expectErrors(/503|ERR_|Failed to load/);
    await desk.open("/dags/sales_daily");
    await cell(/^load, .*: not started$/).waitFor();
    await expect.poll(() => desk.world.streams).toBe(1);
    desk.world.silent = true;
    await expect.poll(() => desk.world.streams).toBe(0);
    setCell(liveRun(), { taskId: "load", state: "running", startedAt: Date.now() });
    await cell(/^load, .*: running$/).waitFor({ timeout: LIVE_MS });
    await desk.page.reload();
    setCell(liveRun(), { taskId: "load", state: "success", startedAt: Date.now(), tookMs: 4 });
    await cell(/^load, .*: success$/)
      .last()
      .waitFor({ timeout: LIVE_MS });
  });
});
