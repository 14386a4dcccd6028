import { describe, expect, test } from "vitest";
import { whyNoBrowser } from "./browser.ts";
import { expectClean } from "./look.ts";
import { useDesk } from "./support.ts";

describe.skipIf(whyNoBrowser() !== null)("filters of lists", () => {
  const desk = useDesk();
  const row = (id: string) =>
    desk.page.getByRole("row").filter({ has: desk.page.getByRole("link", { name: id, exact: true }) });
  const total = (text: string) =>
    desk.page
      .getByRole("status")
      .filter({ hasText: new RegExp(`^${text}$`) })
      .waitFor();

  test("F9: DAGs by tags, owner, state of the last run and import error, all in the URL", async () => {
    await desk.open("/dags");
    await total("148");
    await desk.page.getByLabel("Tag").selectOption("warehouse");
    await total("2");
    await row("sales_daily").getByRole("link", { name: "tier-1" }).click();
    await total("1");
    await desk.expectQuery({ tag: ["warehouse", "tier-1"] });
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
    await expect.poll(() => next.getAttribute("aria-sort")).toBe("ascending");
    await next.getByRole("link").click();
    await desk.expectQuery({ sort: "-nextDueAt" });
  });

  test("j and k go through the DAGs, Enter opens", async () => {
    await desk.open("/dags");
    await row("brand_new").waitFor();
    for (const key of ["j", "j", "j", "k"]) await desk.page.keyboard.press(key);
    await expect.poll(() => desk.page.evaluate("document.activeElement.textContent")).toBe("churn_report");
    await desk.page.keyboard.press("Enter");
    await desk.page.getByRole("heading", { name: "churn_report" }).waitFor();
  });

  test("C1: 20,000 DAGs are scrolled through with few rows in the document", async () => {
    const { detail } = desk.world.dags.get("brand_new")!;
    // The made-up stream compares all it has ten times a second: it is left out.
    desk.world.silent = true;
    desk.expectErrors(/503/);
    for (let number = 0; number < 20_000; number++) {
      const dagId = `many_${String(number).padStart(5, "0")}`;
      desk.world.dags.set(dagId, { detail: { ...detail, dagId }, runs: [] });
    }
    await desk.open("/dags?q=many_");
    await total("20,000");
    await desk.page.mouse.move(700, 600);
    await expect
      .poll(
        async () => {
          await desk.page.mouse.wheel(0, 40_000);
          return row("many_19999").count();
        },
        { timeout: 60_000, interval: 20 },
      )
      .toBe(1);
    expect(await desk.page.getByRole("row").count()).toBeLessThan(80);
    await desk.page.keyboard.press("Home");
    await row("many_00000").waitFor();
    await desk.page.keyboard.press("End");
    await row("many_19999").waitFor();
    await desk.page.getByLabel("Search DAGs").fill("many_1234");
    await total("10");
    await row("many_12349").waitFor();
  }, 90_000);

  test("F9: runs by DAG, kind and state, in the URL", async () => {
    await desk.open("/runs");
    const rows = () => desk.page.getByRole("row");
    await rows().nth(50).waitFor();
    await desk.page.getByLabel("Kind").selectOption("manual");
    await expect.poll(() => rows().count()).toBe(1 + 4);
    await desk.page.getByLabel("Search runs").fill("regions");
    await expect.poll(() => rows().count()).toBe(1 + 1);
    await expect.poll(desk.address).toBe("/runs?type=manual&q=regions&tz=utc");
    await desk.page.reload();
    await expect.poll(() => rows().count()).toBe(1 + 1);
    await desk.open("/runs?q=seattle&tz=dag");
    await desk.page.getByLabel("Which date").selectOption({ label: "Logical date" });
    await desk.page.getByLabel("from").fill("2015-12-09");
    await desk.page.getByLabel("to", { exact: true }).fill("2015-12-11");
    await expect.poll(() => rows().count()).toBe(1 + 3);
    await expect
      .poll(desk.address)
      .toBe("/runs?q=seattle&by=logical&from=2015-12-09&until=2015-12-11&tz=dag");
    await expectClean(desk.page);
  });
});
