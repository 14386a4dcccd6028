import { describe, expect, test } from "vitest";
import { whyNoBrowser } from "./browser.ts";
import { addRun } from "./fixtures/world.ts";
import { expectClean, keepPicture } from "./look.ts";
import { LIVE_MS, useDesk } from "./support.ts";

describe.skipIf(whyNoBrowser() !== null)("lists", () => {
  const desk = useDesk();
  const row = (id: string) =>
    desk.page.getByRole("row").filter({ has: desk.page.getByRole("link", { name: id, exact: true }) });

  test("C1 F9: the list shows schedule, owner, tags, last runs and the next run", async () => {
    await desk.open("/");
    const sales = row("sales_daily");
    await sales.getByText("every day at 02:00 Europe/Berlin").waitFor();
    await sales.getByText("data-platform").waitFor();
    await sales.getByText("tier-1").waitFor();
    await sales.getByText("in 5 h").waitFor();
    expect(await sales.getByRole("link", { name: /^Run .*: running$/ }).count()).toBe(1);
    expect(await sales.getByRole("link", { name: /^Run / }).count()).toBe(10);
    await row("brand_new").getByText("no runs yet").waitFor();
    await desk.page.getByRole("status").filter({ hasText: /^148$/ }).waitFor();
  });

  test("F9: a search narrows the list and is in the URL, so a reload keeps it", async () => {
    await desk.open("/dags");
    await row("sales_daily").waitFor();
    await desk.page.keyboard.press("/");
    await desk.page.keyboard.type("rates");
    await row("sales_daily").waitFor({ state: "detached" });
    await row("exchange_rates").waitFor();
    await expect.poll(desk.address).toBe("/dags?q=rates&tz=utc");
    await desk.page.reload();
    await row("exchange_rates").waitFor();
    expect(await desk.page.getByLabel("Search DAGs").inputValue()).toBe("rates");
    await desk.page.getByLabel("Search DAGs").fill("nothing like this");
    await desk.page.getByText("No DAG matches").waitFor();
  });

  test("F9: a saved view brings back the page by name, over a reload, until it is deleted", async () => {
    await desk.open("/dags?q=rates&show=active&tz=utc");
    await row("exchange_rates").waitFor();
    const views = desk.page.getByRole("dialog", { name: "Saved views" });
    const openViews = () => desk.page.getByRole("button", { name: "Views" }).click();
    await openViews();
    await views.getByText("None yet").waitFor();
    await views.getByLabel("Save this page as").fill(" rates on ");
    await desk.page.keyboard.press("Enter");
    await expect(views.getByRole("link", { name: "rates on" }).getAttribute("aria-current")).resolves.toBe(
      "page",
    );
    await desk.page.keyboard.press("Escape");
    await desk.open("/runs?state=failed");
    await openViews();
    await views.getByLabel("Save this page as").fill("failed runs");
    await views.getByRole("button", { name: "Save" }).click();
    await expectClean(desk.page);
    await keepPicture(desk.page, "saved-views");
    await views.getByRole("link", { name: "rates on" }).click();
    await row("exchange_rates").waitFor();
    await views.waitFor({ state: "detached" });
    await expect.poll(desk.address).toBe("/dags?q=rates&show=active&tz=utc");
    await openViews();
    await views.getByRole("button", { name: "Delete failed runs" }).click();
    await desk.page.reload();
    await openViews();
    await expect.poll(() => views.getByRole("link").allTextContents()).toEqual(["rates on"]);
  });

  test("further DAGs are read when the end of the list comes near", async () => {
    await desk.open("/dags");
    await row("sales_daily").waitFor();
    await desk.page.mouse.move(700, 600);
    await expect
      .poll(async () => (await desk.page.mouse.wheel(0, 1500), row("tenant_140_sync").count()))
      .toBe(1);
  });

  test("the switch asks why, which may be left out, and unpauses; the filter shows the paused ones", async () => {
    await desk.open("/dags");
    const toggle = row("exchange_rates").getByRole("switch");
    await toggle.click();
    const asked = desk.page.getByRole("dialog", { name: "Pause exchange_rates" });
    await asked.getByLabel("Reason").fill("the source is late");
    await desk.page.keyboard.press("Enter");
    await row("exchange_rates").getByText("the source is late").waitFor();
    expect(desk.world.dags.get("exchange_rates")?.detail.paused).toBe(true);
    await desk.page.getByRole("button", { name: "Paused" }).click();
    await row("regions").waitFor({ state: "detached" });
    await row("legacy_export").getByText("the target system moves house").waitFor();
    await toggle.click();
    await row("exchange_rates").waitFor({ state: "detached" });
    expect(desk.world.dags.get("exchange_rates")?.detail.paused).toBe(false);
    await desk.page.getByRole("button", { name: "All" }).click();
    await toggle.click();
    await asked.getByRole("button", { name: "Pause" }).click();
    await row("exchange_rates").getByText("paused").waitFor();
    expect(desk.world.dags.get("exchange_rates")?.detail.pauseReason).toBeNull();
  });

  test("a DAG whose file is gone is neither triggered nor switched, and says why", async () => {
    const dag = desk.world.dags.get("exchange_rates")!;
    dag.detail = { ...dag.detail, active: false };
    await desk.open("/dags");
    const toggle = row("exchange_rates").getByRole("switch");
    expect(await toggle.isDisabled()).toBe(true);
    expect(await toggle.getAttribute("title")).toContain("its file is gone");
    await desk.open("/dags/exchange_rates");
    await desk.page.getByText("its file is gone or defines it no more").waitFor();
    expect(await desk.page.getByRole("button", { name: "Trigger" }).isDisabled()).toBe(true);
    expect(await desk.page.getByRole("switch").isDisabled()).toBe(true);
    await desk.page.keyboard.press("t");
    expect(await desk.page.getByRole("dialog").count()).toBe(0);
  });

  // A machine crowded by other tests may be late once.
  test("a new run appears among the last runs within 2 s", { retry: 2 }, async () => {
    await desk.open("/dags?q=brand_new");
    await row("brand_new").getByText("no runs yet").waitFor();
    addRun(desk.world.dags.get("brand_new")!, {
      at: Date.UTC(2026, 4, 9),
      lengthMs: 86_400_000,
      state: "failed",
      startedAt: Date.now() - 5000,
      tookMs: 1000,
    });
    await row("brand_new")
      .getByRole("link", { name: "Run 2026-05-09 00:00: failed" })
      .waitFor({ timeout: LIVE_MS });
  });

  test("an import error is a banner that leads to its text, file and line", async () => {
    await desk.open("/dags");
    await desk.page.getByRole("link", { name: "dags/churn_report.ts, line 27" }).click();
    await desk.page.getByRole("heading", { name: "Import errors" }).waitFor();
    await desk.page.getByText("dags/churn_report.ts:27", { exact: true }).waitFor();
    await desk.page.locator("pre").getByText('did you mean "extract"?').waitFor();
    await desk.page.getByRole("link", { name: "churn_report", exact: true }).click();
    await desk.page.getByText("dags/churn_report.ts does not load").waitFor();
    desk.world.importErrors = [];
    await desk.page.goBack();
    await desk.page.getByText("No import errors").waitFor();
  });

  test("pools show use and waiting, and name the pool nobody made", async () => {
    await desk.open("/pools");
    await desk.page.getByRole("heading", { name: "Pools" }).waitFor();
    const warehouse = desk.page.getByRole("row").filter({ hasText: "warehouse" }).first();
    await expect
      .poll(async () => (await warehouse.getByRole("cell").allInnerTexts()).slice(1, 5))
      .toEqual(["4", "4", "0", "9 (9 slots)\nfor 2 min 05 s"]);
    await desk.page.getByText("does not exist").waitFor();
  });

  test("runs of all DAGs, by state, lead to their grid", async () => {
    await desk.open("/runs");
    await desk.page.getByRole("row").filter({ hasText: "sales_daily" }).first().waitFor();
    await desk.page.getByRole("button", { name: "failed" }).click();
    const failed = desk.page.getByRole("row").filter({ hasText: "regions" });
    await failed.getByText('task "load_region" [2] failed').waitFor();
    await expect.poll(desk.address).toBe("/runs?state=failed&tz=utc");
    await failed.getByRole("link").nth(1).click();
    await desk.page.getByRole("complementary").getByText("Why it failed").waitFor();
  });

  test("an unknown address says so and leads back", async () => {
    await desk.open("/nowhere/at/all");
    await desk.page.getByText("There is no such page").waitFor();
    await desk.page.getByRole("link", { name: "All DAGs" }).click();
    await row("sales_daily").waitFor();
  });

  test("while the API is away, a banner says so and the data stays", async () => {
    desk.expectErrors(/ERR_|Failed to load resource/);
    await desk.open("/dags");
    await row("sales_daily").waitFor();
    desk.world.away = true;
    await desk.page.getByText("Cannot reach the API; retrying.").waitFor();
    expect(await row("sales_daily").count()).toBe(1);
    // What is asked for once a minute fails too, and must not keep the banner after the first good answer.
    await desk.page.getByRole("link", { name: "Pools" }).click();
    await desk.page.getByRole("link", { name: "DAGs", exact: true }).click();
    await row("sales_daily").waitFor();
    desk.world.away = false;
    await desk.page.getByText("Cannot reach the API; retrying.").waitFor({ state: "detached" });
    desk.world.databaseAway = true;
    await desk.page.getByText("the database does not answer; try again").waitFor();
    expect(await row("sales_daily").count()).toBe(1);
  });
});
