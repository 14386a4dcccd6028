import { describe, expect, test } from "vitest";
import { formatLine } from "../../platform/logs/format.ts";
import { whyNoBrowser } from "./browser.ts";
import { setCell, type FixtureRun } from "./fixtures/world.ts";
import { LIVE_MS, useDesk } from "./support.ts";

describe.skipIf(whyNoBrowser() !== null)("grid", () => {
  const desk = useDesk();
  const cell = (label: string | RegExp) => desk.page.getByRole("gridcell", { name: label });
  const details = () => desk.page.getByRole("complementary", { name: "Details" });
  const liveRun = (): FixtureRun => desk.world.dags.get("sales_daily")!.runs.at(-1)!;

  test("C1: a month of a caught-up DAG is all there: 31 columns, a row per task, every cell with its state in words", async () => {
    await desk.open("/dags/seattle_weather");
    await cell("load, 2015-12-31 00:00: success").waitFor();
    await expect.poll(() => cell(/: success/).count()).toBe(31 * 4);
    await expect.poll(() => desk.page.getByRole("columnheader", { name: /^Run / }).count()).toBe(31);
    await expect
      .poll(() => desk.page.getByRole("rowheader").allInnerTexts())
      .toEqual(["extract", "validate", "load", "summarise"]);
    await cell("load, 2015-12-09 00:00: success, try 2").waitFor();
    await desk.page.getByText("Dec 2015").waitFor();
  });

  // A machine crowded by other tests may be late once.
  test("a change is on the page within 2 s, and nothing else is drawn again", { retry: 2 }, async () => {
    await desk.open("/dags/sales_daily");
    const running = cell(/^clean_orders, .*: running$/);
    await running.waitFor();
    const other = cell(/^wait_for_files, .*: success/).first();
    await desk.page.evaluate(`document.querySelector('[role=gridcell]').setAttribute("data-kept", "yes")`);
    setCell(liveRun(), {
      taskId: "clean_orders",
      state: "success",
      startedAt: Date.now() - 9000,
      tookMs: 8000,
    });
    setCell(liveRun(), { taskId: "load", state: "running", startedAt: Date.now() });
    await cell(/^load, .*: running$/).waitFor({ timeout: LIVE_MS });
    await running.waitFor({ state: "detached", timeout: LIVE_MS });
    expect(await other.getAttribute("data-kept")).toBe("yes");
  });

  test("C1: a cell opens its tries: state, times, worker, error with stack, output and log", async () => {
    await desk.open("/dags/seattle_weather");
    await cell("load, 2015-12-09 00:00: success, try 2").click();
    await details().getByRole("heading", { name: "load" }).waitFor();
    await details().getByRole("tab", { name: "Try 2: success" }).waitFor();
    await details().getByText("worker-3:4711").waitFor();
    await details().getByText('"rows": 4231').waitFor();
    await details().getByText("the try succeeded").waitFor();
    await details().getByRole("tab", { name: "Try 1: failed" }).click();
    await details()
      .getByRole("region", { name: "Error" })
      .getByText('cannot read "rows" of undefined')
      .first()
      .waitFor();
    await details().getByText("at load (dags/sales_daily.ts:41:19)").last().waitFor();
    await desk.expectQuery({ try: "1" });
  });

  test(
    "C1: the log of a running try grows on the page, and closes when the try ends",
    { retry: 2 },
    async () => {
      await desk.open("/dags/sales_daily");
      await cell(/^clean_orders, .*: running$/).click();
      await details().getByText("clean_orders begins, try 1").waitFor();
      await details().getByText("following").waitFor();
      const task = liveRun().tasks.get("clean_orders -1")!;
      const log = task.logs.get(1)!;
      log.text += formatLine({ at: Date.now(), level: "info", text: "half of the rows are clean" });
      await details().getByText("half of the rows are clean").waitFor({ timeout: LIVE_MS });
      log.text += formatLine({ at: Date.now(), level: "info", text: "all rows are clean" });
      log.done = true;
      setCell(liveRun(), {
        taskId: "clean_orders",
        state: "success",
        startedAt: Date.now() - 9000,
        tookMs: 8000,
      });
      await details().getByText("all rows are clean").waitFor({ timeout: LIVE_MS });
      await details().getByText("following").waitFor({ state: "detached" });
    },
  );

  test("a log of 200,000 lines is followed at its end without being in the document", async () => {
    const log = liveRun().tasks.get("clean_orders -1")!.logs.get(1)!;
    log.text = Array.from({ length: 200_000 }, (_, n) => `2026-05-09T00:00:00.000Z INFO  line ${n}\n`).join(
      "",
    );
    await desk.open("/dags/sales_daily");
    await cell(/^clean_orders, .*: running$/).click();
    await details().getByText("line 199999", { exact: true }).waitFor();
    expect(await details().locator(".log-line").count()).toBeLessThan(200);
  });

  test("F16: why a task waits is said on its panel and on its run's", async () => {
    await desk.open("/dags/sales_daily");
    await cell(/^enrich_with_exchange_rates, .*: queued$/).click();
    await details().getByText("pool warehouse: all 4 slots are in use").waitFor();
    await details().getByText("It has no tries").waitFor();
    await desk.page.getByRole("columnheader", { name: /^Run .*: running/ }).click();
    await details().getByText("Tasks are at work").waitFor();
    await details().getByText("pool warehouse: all 4 slots are in use").waitFor();
  });

  test("a run shows kind, interval, version, duration, conf and its way to Temporal Web", async () => {
    await desk.open("/dags/regions");
    await desk.page.getByRole("columnheader", { name: /^Run / }).click();
    await details().getByText("triggered by hand (ada)").waitFor();
    await details().getByText('task "load_region" [2] failed').waitFor();
    await details().getByText('"dryRun": false').waitFor();
    const link = details().getByRole("link", { name: "Temporal Web" });
    expect(await link.getAttribute("href")).toMatch(
      /^http:\/\/127\.0\.0\.1:8233\/namespaces\/default\/workflows\/run\.regions\./,
    );
    await cell(/^load_region/).click();
    await details().getByRole("heading", { name: "load_region[2]" }).waitFor();
  });

  test("a task's name shows how the task is defined", async () => {
    await desk.open("/dags/sales_daily");
    await desk.page.getByRole("rowheader", { name: "load" }).click();
    await details().getByText("2, after 5 s, × 2 each time, at most 1 min").waitFor();
    await details().getByRole("link", { name: "archive_inputs" }).click();
    await details().getByRole("heading", { name: "archive_inputs" }).waitFor();
  });

  test("arrows move in the grid, Enter opens, Escape closes, ? shows the keys", async () => {
    await desk.open("/dags/seattle_weather");
    const grid = desk.page.getByRole("grid");
    await grid.focus();
    const place = async (): Promise<string | null> => {
      const id = await grid.getAttribute("aria-activedescendant");
      return desk.page.locator(`#${id}`).getAttribute("aria-label");
    };
    await expect.poll(place).toMatch(/^Run 2015-12-31/);
    for (const key of ["ArrowDown", "ArrowDown", "ArrowLeft"]) await desk.page.keyboard.press(key);
    await expect.poll(place).toBe("validate, 2015-12-30 00:00: success");
    await desk.page.keyboard.press("Home");
    await expect.poll(place).toBe("validate, 2015-12-01 00:00: success");
    await desk.page.keyboard.press("Enter");
    await details().getByRole("heading", { name: "validate" }).waitFor();
    await desk.expectQuery({ run: "2015-12-01T00-00-00Z" });
    await desk.page.keyboard.press("Escape");
    await details().getByRole("heading", { name: "About this DAG" }).waitFor();
    await desk.page.keyboard.press("?");
    await desk.page.getByRole("dialog", { name: "Keys" }).waitFor();
    await desk.page.keyboard.press("Escape");
    await desk.page.getByRole("dialog").waitFor({ state: "detached" });
    await desk.page.keyboard.press("/");
    await desk.page.keyboard.type("load");
    await expect.poll(() => desk.page.getByRole("rowheader").allInnerTexts()).toEqual(["load"]);
  });

  test("with the newest run in sight, the first column is a whole one, at any width", async () => {
    for (const width of [1280, 1333]) {
      await desk.page.setViewportSize({ width, height: 720 });
      await desk.open("/dags/sales_daily?runs=31");
      const grid = desk.page.getByRole("grid");
      await cell(/^load, /)
        .last()
        .waitFor();
      const left = (): Promise<number> => grid.evaluate((element) => element.scrollLeft);
      await expect.poll(async () => (await left()) > 0 && (await left()) % 22 === 0).toBe(true);
    }
  });

  test("a failed run names the tasks that failed, each a link", async () => {
    for (const run of desk.world.dags.get("sales_daily")!.runs) run.detail = { ...run.detail, reason: null };
    await desk.open("/dags/sales_daily?runs=366");
    await desk.page
      .getByRole("columnheader", { name: /: failed, / })
      .last()
      .click();
    const why = details().getByText("Why it failed: ");
    await why.waitFor();
    await details().locator(".why.bad").getByRole("link").first().click();
    await details()
      .getByRole("tab", { name: /: failed$/ })
      .last()
      .waitFor();
  });

  test("C1 F9: the URL holds page, cell, try, span, filter and zone: a reload shows the same", async () => {
    // Every run is there at once: no older columns come in under the pointer.
    await desk.open("/dags/sales_daily?runs=366&tasks=orders&tz=dag");
    const failed = cell(/^extract_orders, .*: failed, try 3$/).last();
    await failed.click();
    await details().getByRole("tab", { name: "Try 2: failed" }).click();
    await details().getByRole("tab", { name: "Try 2: failed", selected: true }).waitFor();
    await desk.expectQuery({ try: "2" });
    const url = desk.page.url();
    const title = await details().locator(".state-line").innerText();
    await desk.page.reload();
    await details().getByRole("tab", { name: "Try 2: failed", selected: true }).waitFor();
    await expect.poll(() => desk.page.url()).toBe(url);
    await expect.poll(() => details().locator(".state-line").innerText()).toBe(title);
    expect(await desk.page.getByLabel("Filter tasks").inputValue()).toBe("orders");
    expect(await desk.page.getByLabel("Time zone").inputValue()).toBe("dag");
    await cell(/^extract_orders, .*: failed, try 3$/)
      .and(desk.page.locator("[aria-selected=true]"))
      .waitFor();
    await desk.page.goBack();
    await details().getByRole("heading", { name: "About this DAG" }).waitFor();
  });

  test("the zone switch changes every time on the page, is remembered, and says which zone is in use", async () => {
    await desk.open("/dags/sales_daily");
    await cell(/00:00: /)
      .first()
      .waitFor();
    await desk.page.getByLabel("Time zone").selectOption("dag");
    await cell(/0[12]:00: /)
      .first()
      .waitFor();
    await expect.poll(() => cell(/00:00: /).count()).toBe(0);
    await desk.page.getByText("DAG's zone: Europe/Berlin").waitFor({ state: "attached" });
    await desk.open("/dags/sales_daily");
    await cell(/0[12]:00: /)
      .first()
      .waitFor();
  });

  test("older runs, and back to the newest", async () => {
    await desk.open("/dags/exchange_rates");
    const first = desk.page.getByRole("columnheader", { name: /^Run / }).first();
    const newest = await first.getAttribute("aria-label");
    await desk.page.getByRole("button", { name: "Older" }).click();
    await expect.poll(() => first.getAttribute("aria-label")).not.toBe(newest);
    await desk.page.getByRole("button", { name: "Newest" }).click();
    await desk.page.getByRole("columnheader", { name: newest! }).waitFor();
  });

  test("an empty grid says what to do", async () => {
    await desk.open("/dags/legacy_export");
    await desk.page.getByText("This DAG is paused: switch it on, or trigger a run.").waitFor();
    await desk.page.getByText("Paused by ada: the target system moves house until Friday.").waitFor();
  });

  test("an unknown DAG is told as such", async () => {
    desk.expectErrors(/404/);
    await desk.open("/dags/nobody");
    await desk.page.getByText('there is no dag "nobody"').waitFor();
  });
});
