import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { formatLine } from "../../platform/logs/format.ts";
import { whyNoBrowser } from "./browser.ts";
import { addLargeDag } from "./fixtures/large.ts";
import { addRun, setCell, type FixtureRun } from "./fixtures/world.ts";
import { expectClean, keepPicture } from "./look.ts";
import { LIVE_MS, useDesk, type Desk } from "./support.ts";

const query = (desk: Desk) => new URL(desk.page.url()).searchParams;

describe.skipIf(whyNoBrowser() !== null)("grid over months", () => {
  const desk = useDesk();
  const cell = (label: string | RegExp) => desk.page.getByRole("gridcell", { name: label });
  const details = () => desk.page.getByRole("complementary", { name: "Details" });
  const names = () => desk.page.getByRole("rowheader").allInnerTexts();
  const columns = async () => Number(await desk.page.getByRole("grid").getAttribute("aria-colcount")) - 1;
  const liveRun = (): FixtureRun => desk.world.dags.get("sales_daily")!.runs.at(-1)!;

  test("F10: groups fold to one row that sums them up; the URL keeps it; a cell of a group opens the group", async () => {
    await desk.open("/dags/warehouse_groups");
    await cell(/^group extract, .*: failed; 1 failed, 3 success$/).waitFor();
    await desk.page.getByRole("rowheader", { name: "files" }).click();
    await desk.page.getByRole("rowheader", { name: "read" }).waitFor({ state: "detached" });
    expect(query(desk).getAll("fold")).toEqual(["extract.files"]);
    await desk.page.reload();
    await cell(/^group extract.files, .*: failed; 1 failed, 1 success$/).waitFor();
    expect((await names()).map((name) => name.replace(/[▸▾\d\n]/g, ""))).toEqual([
      "begin",
      "extract",
      "orders",
      "customers",
      "files",
      "load",
      "clean",
      "store",
      "report",
    ]);
    await keepPicture(desk.page, "grid-groups");
    await cell(/^group extract.files, .*: failed/).click();
    await details().getByText("group of 2 tasks").waitFor();
    await details().getByRole("link", { name: "extract.files.read" }).click();
    await details().getByRole("heading", { name: "extract.files.read" }).waitFor();
    await desk.page.getByRole("button", { name: "Fold groups" }).click();
    await desk.page.getByRole("rowheader", { name: "orders" }).waitFor({ state: "detached" });
    await desk.page.getByRole("button", { name: "Unfold groups" }).click();
    await desk.page.getByRole("rowheader", { name: "orders" }).waitFor();
    expect(query(desk).getAll("fold")).toEqual([]);
  });

  test("runs by hand within one minute have names of their own", async () => {
    await desk.open("/dags/warehouse_groups");
    const byHand = desk.page.getByRole("columnheader", { name: /triggered by hand/ });
    await byHand.first().waitFor();
    const labels = await byHand.evaluateAll((all) => all.map((one) => one.getAttribute("aria-label") ?? ""));
    expect(labels.map((label) => /\d\d:\d\d[\d:.]*(?=: )/.exec(label)?.[0])).toEqual([
      "14:05:03",
      "14:05:32.120",
      "14:05:32.870",
    ]);
    await byHand.last().click();
    await details()
      .getByRole("heading", { name: /14:05:32\.870$/ })
      .waitFor();
  });

  test("older runs are read when one scrolls to them, and what one looks at stays in its place", async () => {
    addLargeDag(desk.world, "large", 30, 700);
    await desk.open("/dags/large?runs=92");
    await cell(/./).first().waitFor();
    expect(await columns()).toBe(92);
    await desk.page.mouse.move(600, 500);
    await desk.page.mouse.wheel(-700, 0);
    const grid = desk.page.getByRole("grid");
    const fromNewest = () => grid.evaluate((one) => one.scrollWidth - one.scrollLeft - one.clientWidth);
    await expect.poll(fromNewest).toBeGreaterThan(400);
    const before = await fromNewest();
    await expect.poll(columns).toBe(292);
    // 200 columns came in before what is in sight, which is as far from the newest as it was.
    expect(await fromNewest()).toBe(before);
    await expect
      .poll(async () => (await desk.page.mouse.wheel(-3000, 0), columns()), { timeout: 20_000 })
      .toBe(700);
    await desk.page.mouse.wheel(-30_000, 0);
    const first = cell(/^stage_0\.task_0, /).first();
    await expect.poll(() => first.getAttribute("aria-colindex")).toBe("2");
    expect(await desk.page.getByRole("button", { name: "Older" }).isDisabled()).toBe(true);
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
    expect(query(desk).get("before")).toMatch(/^\d+\.\d+$/);
    await desk.page.goBack();
    await desk.page.getByRole("columnheader", { name: newest! }).waitFor();
  });

  test("a link to a run of long ago shows it in the grid", async () => {
    const old = desk.world.dags.get("sales_daily")!.runs[3]!;
    await desk.open(`/dags/sales_daily?run=${old.detail.runId}&task=load`);
    await desk.page.locator("[role=gridcell][aria-selected=true]").waitFor();
    expect(
      await desk.page.locator("[role=gridcell][aria-selected=true]").getAttribute("aria-label"),
    ).toContain(old.detail.logicalDate.slice(0, 10));
  });

  test("letters move as arrows do, from anywhere on the page; x folds; digits choose the view", async () => {
    await desk.open("/dags/warehouse_groups");
    const grid = desk.page.getByRole("grid");
    await cell(/./).first().waitFor();
    for (const key of ["j", "j", "h"]) await desk.page.keyboard.press(key);
    const place = async () =>
      desk.page.locator(`#${await grid.getAttribute("aria-activedescendant")}`).getAttribute("aria-label");
    expect(await place()).toMatch(/^group extract, .*14:05:32\.120: success/);
    await desk.page.keyboard.press("x");
    await desk.page.getByRole("rowheader", { name: "orders" }).waitFor({ state: "detached" });
    await desk.page.keyboard.press("Enter");
    await details().getByText("group of 4 tasks").waitFor();
    await desk.page.keyboard.press("5");
    await desk.page.getByRole("grid").waitFor({ state: "detached" });
    expect(query(desk).get("show")).toBe("details");
    await desk.page.keyboard.press("Escape");
    await desk.page.getByRole("grid").waitFor();
    expect(query(desk).get("group")).toBe("extract");
  });

  // A machine crowded by other tests may be late once.
  test("a cell's change is seen within 1 s, as the API tells it", { retry: 2 }, async () => {
    await desk.open("/dags/sales_daily");
    await cell(/^load, .*: not started$/).waitFor();
    // From here on nothing is asked for: what is seen was told.
    await desk.page.waitForTimeout(1500);
    let asked = 0;
    desk.page.on("request", (request) => {
      if (request.url().includes("/grid")) asked += 1;
    });
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
    desk.world.silent = true;
    await desk.page.waitForTimeout(500);
    setCell(liveRun(), { taskId: "load", state: "running", startedAt: Date.now() });
    await cell(/^load, .*: running$/).waitFor({ timeout: LIVE_MS });
    await desk.page.reload();
    setCell(liveRun(), { taskId: "load", state: "success", startedAt: Date.now(), tookMs: 4 });
    await cell(/^load, .*: success$/)
      .last()
      .waitFor({ timeout: LIVE_MS });
  });
});

describe.skipIf(whyNoBrowser() !== null)("details", () => {
  const desk = useDesk();
  const details = () => desk.page.getByRole("complementary", { name: "Details" });
  const log = () => details().getByRole("region", { name: "Log" });
  const LOAD = "/dags/seattle_weather?run=2015-12-09T00-00-00Z&task=load";

  test("a log is searched, filtered by level, linked to and downloaded; the URL keeps it", async () => {
    await desk.open(LOAD);
    await log().getByText("5 lines").waitFor();
    await log().getByLabel("Search the log").fill("ROWS");
    await log().getByText("2 of 5 lines").waitFor();
    expect(await log().locator("mark").allInnerTexts()).toEqual(["rows", "rows"]);
    await log().getByLabel("Level").selectOption("warn");
    await log().getByText("1 of 5 lines").waitFor();
    await log().getByRole("button", { name: "Link to line 4" }).click();
    expect(desk.page.url()).toContain("find=ROWS&level=warn&line=4");
    await desk.page.reload();
    await log().locator(".log-line.linked").getByText("have no region").waitFor();
    const download = desk.page.waitForEvent("download");
    await log().getByRole("button", { name: "download" }).click();
    const file = await (await download).path();
    expect((await download).suggestedFilename()).toBe("load.2015-12-09T00-00-00Z.try-2.log");
    expect(await readFile(file, "utf8")).toBe(
      desk.world.dags.get("seattle_weather")!.runs[8]!.tasks.get("load -1")!.logs.get(2)!.text,
    );
    await log().getByLabel("Search the log").fill("nothing like it");
    await log().getByText("No line matches").waitFor();
  });

  test("a link to a line of a long log opens at that line; the end is followed only when asked for", async () => {
    const run = desk.world.dags.get("sales_daily")!.runs.at(-1)!;
    const lines = run.tasks.get("clean_orders -1")!.logs.get(1)!;
    lines.text = Array.from({ length: 20_000 }, (_, n) =>
      formatLine({ at: Date.now(), level: "info", text: `line ${n + 1}` }),
    ).join("");
    await desk.open(`/dags/sales_daily?run=${run.detail.runId}&task=clean_orders&line=12345`);
    await log().locator(".log-line.linked").getByText("line 12345", { exact: true }).waitFor();
    expect(await log().getByLabel("stay at the end").isChecked()).toBe(false);
    await log().getByLabel("stay at the end").check();
    await log().getByText("line 20000", { exact: true }).waitFor();
    lines.text += formatLine({ at: Date.now(), level: "info", text: "and one more" });
    await log().getByText("and one more").waitFor({ timeout: LIVE_MS });
    await log().getByLabel("wrap").uncheck();
    await desk.page.reload();
    await log().getByText("and one more").waitFor();
    expect(await log().getByLabel("wrap").isChecked()).toBe(false);
  });

  test("a large output is told by its size, with a link", async () => {
    const one = desk.world.dags.get("seattle_weather")!.runs[8]!.tasks.get("load -1")!.tries[1]!;
    one.output = null;
    one.stored = { bytes: 12_900_000, href: "/api/v1/health" };
    await desk.open(LOAD);
    await details().getByText("Output of 12.3 MiB").waitFor();
    expect(await details().getByRole("link", { name: "open its JSON" }).getAttribute("href")).toBe(
      "/api/v1/health",
    );
  });

  test("run and task have the whole page when wanted, and go back beside the grid", async () => {
    await desk.open("/dags/seattle_weather?run=2015-12-09T00-00-00Z");
    await details().getByRole("link", { name: "Open at full width" }).click();
    await desk.page.getByRole("grid").waitFor({ state: "detached" });
    const rows = details().getByRole("table").getByRole("row");
    expect(await rows.count()).toBe(5);
    await keepPicture(desk.page, "run-page");
    await expectClean(desk.page);
    await details().getByRole("link", { name: "load" }).click();
    await details().getByRole("tab", { name: "Try 2: success" }).waitFor();
    await keepPicture(desk.page, "task-page");
    await expectClean(desk.page);
    await details().getByRole("link", { name: "Back beside the grid" }).click();
    await desk.page.getByRole("grid").waitFor();
    await desk.page.goBack();
    await desk.page.goBack();
    await rows.first().waitFor();
    await desk.page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Grid" }).click();
    await desk.page.getByRole("grid").waitFor();
  });

  test("the DAG's own details: coming runs, its doc, what is wrong with it", async () => {
    const dag = desk.world.dags.get("sales_daily")!;
    dag.detail = {
      ...dag.detail,
      warnings: [
        { code: "versions_pile_up", message: "21 versions within a day: is its code the same each time?" },
      ],
      graph: { ...dag.detail.graph!, doc: "Reads **orders**." },
    };
    await desk.open("/dags/sales_daily");
    await desk.page.getByText("21 versions within a day").waitFor();
    await details().locator("strong").getByText("orders").waitFor();
    await details().getByRole("region", { name: "Coming runs" }).getByRole("row").nth(5).waitFor();
    await details().getByRole("link", { name: "tier-1" }).click();
    await desk.page.getByRole("status").filter({ hasText: /^1$/ }).waitFor();
    expect(query(desk).getAll("tag")).toEqual(["tier-1"]);
  });
});

describe.skipIf(whyNoBrowser() !== null)("lists", () => {
  const desk = useDesk();
  const row = (id: string) =>
    desk.page.getByRole("row").filter({ has: desk.page.getByRole("link", { name: id, exact: true }) });
  const total = (text: string) =>
    desk.page
      .getByRole("status")
      .filter({ hasText: new RegExp(`^${text}$`) })
      .waitFor();

  test("DAGs by tags, owner, state of the last run and import error, all in the URL", async () => {
    await desk.open("/dags");
    await total("148");
    await desk.page.getByLabel("Tag").selectOption("warehouse");
    await total("2");
    await row("sales_daily").getByRole("link", { name: "tier-1" }).click();
    await total("1");
    expect(desk.page.url()).toContain("/dags?tag=warehouse&tag=tier-1");
    await desk.page.getByRole("button", { name: "No longer by tag tier-1" }).click();
    await total("2");
    await desk.page.getByLabel("State of the last run").selectOption("running");
    await total("1");
    await desk.page.reload();
    await total("1");
    expect(await desk.page.getByLabel("State of the last run").inputValue()).toBe("running");
    await desk.page.getByRole("button", { name: "clear" }).click();
    await total("148");
    await desk.page.getByLabel("Owner").selectOption("finance");
    await total("1");
    await row("exchange_rates").waitFor();
    await desk.page.getByLabel("Owner").selectOption("");
    await desk.page.getByLabel("import error").check();
    await total("1");
    await row("churn_report").waitFor();
    await desk.page.getByLabel("State of the last run").selectOption("cancelled");
    await desk.page.getByRole("link", { name: "show all DAGs" }).click();
    await total("148");
  });

  test("DAGs by when their next run is due", async () => {
    await desk.open("/dags");
    await row("brand_new").waitFor();
    const next = desk.page.getByRole("columnheader", { name: "Next run" });
    await next.getByRole("link").click();
    await expect.poll(() => desk.page.locator("a.dag-id").nth(1).innerText()).toBe("tenant_001_sync");
    expect(await next.getAttribute("aria-sort")).toBe("ascending");
    await next.getByRole("link").click();
    expect(query(desk).get("sort")).toBe("-nextDueAt");
  });

  test("j and k go through the DAGs, Enter opens", async () => {
    await desk.open("/dags");
    await row("brand_new").waitFor();
    for (const key of ["j", "j", "j", "k"]) await desk.page.keyboard.press(key);
    expect(await desk.page.evaluate("document.activeElement.textContent")).toBe("churn_report");
    await desk.page.keyboard.press("Enter");
    await desk.page.getByRole("heading", { name: "churn_report" }).waitFor();
  });

  test("20,000 DAGs are scrolled through with few rows in the document", async () => {
    const { detail } = desk.world.dags.get("brand_new")!;
    for (let number = 0; number < 1000; number++) {
      const dagId = `many_${String(number).padStart(5, "0")}`;
      desk.world.dags.set(dagId, { detail: { ...detail, dagId }, runs: [] });
    }
    await desk.open("/dags?q=many_");
    await total("1,000");
    await desk.page.mouse.move(700, 600);
    await expect
      .poll(
        async () => {
          await desk.page.mouse.wheel(0, 20_000);
          return row("many_00999").count();
        },
        { timeout: 20_000 },
      )
      .toBe(1);
    expect(await desk.page.getByRole("row").count()).toBeLessThan(80);
  });

  test("runs by DAG, kind and state, in the URL", async () => {
    await desk.open("/runs");
    const rows = () => desk.page.getByRole("row");
    await rows().nth(50).waitFor();
    await desk.page.getByLabel("Kind").selectOption("manual");
    await expect.poll(() => rows().count()).toBe(1 + 4);
    await desk.page.getByLabel("Search runs").fill("regions");
    await expect.poll(() => rows().count()).toBe(1 + 1);
    expect(new URL(desk.page.url()).search).toBe("?type=manual&q=regions");
    await desk.page.reload();
    await expect.poll(() => rows().count()).toBe(1 + 1);
    await desk.open("/runs?q=seattle&tz=dag");
    await desk.page.getByLabel("from").fill("2015-12-09");
    await desk.page.getByLabel("to", { exact: true }).fill("2015-12-11");
    await expect.poll(() => rows().count()).toBe(1 + 3);
    expect(new URL(desk.page.url()).search).toBe("?q=seattle&from=2015-12-09&until=2015-12-11&tz=dag");
    await expectClean(desk.page);
  });
});

describe.skipIf(whyNoBrowser() !== null)("for everyone", () => {
  const desk = useDesk();
  const PAGES = [
    ["dags", "/dags"],
    ["grid", "/dags/sales_daily"],
    ["groups", "/dags/warehouse_groups?fold=load"],
    ["runs", "/runs"],
    ["unknown", "/nowhere"],
  ] as const;

  test.each(PAGES)("no rule of accessibility is broken in light and in dark: %s", async (name, path) => {
    await desk.open(path);
    await desk.page.getByRole("main").waitFor();
    await desk.page.waitForTimeout(700);
    await keepPicture(desk.page, name);
    await expectClean(desk.page);
  });

  test("a task with tries and log, and the keys, too", async () => {
    await desk.open("/dags/sales_daily?q=");
    await desk.page.getByRole("gridcell", { name: /^enrich_with_exchange_rates, .*: queued$/ }).click();
    await desk.page.getByText("Why it waits").waitFor();
    await expectClean(desk.page);
    await desk.page
      .getByRole("gridcell", { name: /: failed, try 3$/ })
      .first()
      .click();
    await desk.page.getByRole("region", { name: "Error" }).waitFor();
    await keepPicture(desk.page, "task");
    await expectClean(desk.page);
    await desk.page.keyboard.press("?");
    await desk.page.getByRole("dialog", { name: "Keys" }).waitFor();
    await keepPicture(desk.page, "keys");
    await expectClean(desk.page);
  });

  test.each([...PAGES, ["task", "/dags/seattle_weather?run=2015-12-09T00-00-00Z&task=load"] as const])(
    "a window of 400 px is no wider than it is: %s",
    async (name, path) => {
      await desk.page.setViewportSize({ width: 400, height: 800 });
      await desk.open(path);
      await desk.page.waitForTimeout(700);
      await keepPicture(desk.page, `narrow-${name}`);
      expect(await desk.page.evaluate<number>("document.documentElement.scrollWidth")).toBeLessThanOrEqual(
        400,
      );
    },
  );
});
