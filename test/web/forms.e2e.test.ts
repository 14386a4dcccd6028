import { beforeEach, describe, expect, test } from "vitest";
import { whyNoBrowser } from "./browser.ts";
import { addViews } from "./fixtures/views.ts";
import { expectClean, keepPicture } from "./look.ts";
import { useDesk } from "./support.ts";

describe.skipIf(whyNoBrowser() !== null)("trigger form, pools and files", () => {
  const desk = useDesk();
  beforeEach(() => {
    desk.world.views = addViews(desk.world, Date.now());
  });
  const dialog = () => desk.page.getByRole("dialog");
  const field = (name: string) => dialog().locator(`[data-field="${name}"]`);
  const confs = () => desk.world.dags.get("orders_report")!.runs.map((run) => run.detail.conf);
  const row = (name: string) => desk.page.getByRole("row").filter({ hasText: name }).first();
  const send = () => dialog().getByRole("button", { name: "Trigger" });
  const openForm = async (query = ""): Promise<void> => {
    await desk.open(`/dags/orders_report${query}`);
    await desk.page.getByRole("button", { name: "Trigger" }).click();
    await dialog().getByLabel("Region").waitFor();
  };

  test("A12: the form has the defaults, checks as one types, and sends values of the right types", async () => {
    await openForm("?tz=UTC");
    expect(await dialog().getByLabel("days").inputValue()).toBe("7");
    await dialog().getByLabel("days").fill("99");
    await field("days").getByText("Too large: at most 31").waitFor();
    await field("days").getByText("a whole number from 1 to 31; empty: 7").waitFor();
    await keepPicture(desk.page, "trigger");
    await expectClean(desk.page);
    await send().click();
    // What is missing is said only now, and the first wrong field has the focus.
    await field("customer").getByText("Needed: there is no default").waitFor();
    const focused = "document.activeElement?.closest('[data-field]')?.getAttribute('data-field')";
    await expect.poll(() => desk.page.evaluate(focused)).toBe("days");
    await dialog().getByLabel("days").fill("3");
    await dialog().getByLabel("Region").selectOption("north");
    await dialog().getByLabel("Customer").fill("C12");
    await field("customer").getByText("Does not match").waitFor();
    await dialog().getByLabel("Customer").fill("C1234");
    await dialog().getByLabel("Dry run").check();
    await field("note").getByLabel("none (null)").uncheck();
    await dialog().getByLabel("note", { exact: true }).fill("by hand");
    await dialog().getByLabel("since").fill("2026-05-09");
    await dialog().getByLabel("cutoff").fill("2026-05-09 14:30Z");
    await dialog().getByLabel("channels").fill('["web"');
    await field("channels").getByText("Not JSON").waitFor();
    await dialog().getByLabel("channels").fill('["web"]');
    await dialog().getByLabel("verbose").selectOption("no");
    await send().click();
    await dialog().waitFor({ state: "detached" });
    expect(confs().at(-1)).toEqual({
      region: "north",
      days: 3,
      dryRun: true,
      note: "by hand",
      customer: "C1234",
      since: "2026-05-09",
      cutoff: "2026-05-09T14:30:00.000Z",
      channels: ["web"],
      verbose: false,
    });
  });

  test("A12: JSON and form are two sides of the same; nothing that was typed is lost", async () => {
    await openForm();
    await dialog().getByLabel("days").fill("many");
    await dialog().getByLabel("Customer").fill("C0001");
    await dialog().getByRole("button", { name: "JSON" }).click();
    const text = dialog().getByLabel("Conf");
    const shown = JSON.parse(await text.inputValue()) as Record<string, unknown>;
    expect(shown).toMatchObject({ days: "many", customer: "C0001", region: "all", note: null });
    await text.fill("{");
    await expect.poll(() => dialog().getByRole("button", { name: "Form" }).isDisabled()).toBe(true);
    await expect.poll(() => send().isDisabled()).toBe(true);
    await text.fill(JSON.stringify({ ...shown, days: 5, extra: [1] }));
    await keepPicture(desk.page, "trigger-json");
    await dialog().getByRole("button", { name: "Form" }).click();
    expect(await dialog().getByLabel("days").inputValue()).toBe("5");
    await send().click();
    await dialog().waitFor({ state: "detached" });
    expect(confs().at(-1)).toEqual({ ...shown, days: 5, extra: [1] });
  });

  test("A12: what the API refuses stands at the field until it is changed", async () => {
    desk.expectErrors(/400/);
    await openForm();
    await dialog().getByLabel("Customer").fill("C0000");
    await send().click();
    await field("customer").getByText("is no customer").waitFor();
    await field("channels").getByText("[1]: is closed").waitFor();
    await dialog().getByRole("alert").getByText("nothing is left to do").waitFor();
    await keepPicture(desk.page, "trigger-refused");
    await expectClean(desk.page);
    await dialog().getByLabel("Customer").fill("C0002");
    await field("customer").getByText("is no customer").waitFor({ state: "detached" });
    await send().click();
    await dialog().waitFor({ state: "detached" });
  });

  test("pools are made, changed and deleted; what the API refuses is said", async () => {
    desk.expectErrors(/400|409/);
    await desk.open("/pools");
    await desk.page.getByRole("button", { name: "New pool" }).click();
    await dialog().getByLabel("Name").fill("not a name");
    await dialog().getByLabel("Slots").fill("1.5");
    await dialog().getByText("A whole number from 0 to 1,000,000").waitFor();
    const make = dialog().getByRole("button", { name: "Make the pool" });
    await expect.poll(() => make.isDisabled()).toBe(true);
    await dialog().getByLabel("Slots").fill("3");
    await make.click();
    await dialog().getByRole("alert").getByText('"not a name" is not allowed').waitFor();
    await dialog().getByLabel("Name").fill("etl");
    await dialog().getByLabel("Description").fill("Loads");
    await make.click();
    await row("etl").getByText("Loads").waitFor();

    await desk.page.getByRole("button", { name: "Edit warehouse" }).click();
    await dialog().getByLabel("Slots").fill("2");
    await dialog().getByText("4 are in use: work under way goes on").waitFor();
    await keepPicture(desk.page, "pool-edit");
    await expectClean(desk.page);
    await dialog().getByLabel("Slots").fill("9");
    await dialog().getByRole("button", { name: "Save" }).click();
    await dialog().waitFor({ state: "detached" });
    expect(desk.world.pools.find((pool) => pool.name === "warehouse")).toMatchObject({
      slots: 9,
      description: "Connections to the warehouse",
    });

    await desk.page.getByRole("button", { name: "Delete warehouse" }).click();
    await dialog().getByRole("button", { name: "Delete" }).click();
    await dialog().getByRole("alert").getByText('pool "warehouse" has work: 4 slots in use').waitFor();
    await desk.page.keyboard.press("Escape");
    await desk.page.getByRole("button", { name: "Delete etl" }).click();
    await dialog().getByRole("button", { name: "Delete" }).click();
    await desk.page.getByRole("button", { name: "Edit etl" }).waitFor({ state: "detached" });

    await desk.page.getByRole("button", { name: "Make gpu" }).click();
    await dialog().getByLabel("Slots").fill("1");
    await dialog().getByRole("button", { name: "Make the pool" }).click();
    await desk.page.getByRole("button", { name: "Edit gpu" }).waitFor();
    expect(await desk.page.getByRole("button", { name: "Delete default_pool" }).count()).toBe(0);
  });

  test("F16: who waits for a pool and why, who holds it; the URL keeps which is open", async () => {
    await desk.open("/pools");
    await desk.page.getByRole("button", { name: "warehouse", exact: true }).click();
    const waiting = desk.page.getByRole("region", { name: "Waiting" });
    await waiting.getByText("all 4 slots are in use; 2 requests are before it").waitFor();
    await expect.poll(() => waiting.getByRole("listitem").count()).toBe(9);
    const inUse = desk.page.getByRole("region", { name: "In use" });
    await expect.poll(() => inUse.getByRole("listitem").count()).toBe(4);
    await expect.poll(desk.address).toBe("/pools?pool=warehouse&tz=utc");
    await desk.page.reload();
    await waiting.getByText("2 requests are before it").waitFor();
    await keepPicture(desk.page, "pools");
    await expectClean(desk.page);
    // The made-up queue names runs that are not there.
    desk.expectErrors(/404/);
    await waiting.getByRole("link", { name: "sales_daily · enrich_with_exchange_rates[0]" }).click();
    await expect
      .poll(desk.address)
      .toContain("/dags/sales_daily?run=2026-05-09T00-00-00Z&task=enrich_with_exchange_rates");
  });

  test("B1: files with when they were looked at, how long it took, what is wrong; searched and filtered", async () => {
    await desk.open("/files");
    const sales = row("dags/sales_daily.ts");
    await sales.getByRole("link", { name: "sales_daily" }).waitFor();
    await sales.getByText(/ms$/).first().waitFor();
    await desk.page.getByText("31 versions within an hour").waitFor();
    await keepPicture(desk.page, "files");
    await expectClean(desk.page);
    await desk.page.getByRole("button", { name: "With errors" }).click();
    await sales.waitFor({ state: "detached" });
    await expect.poll(desk.address).toBe("/files?errors&tz=utc");
    await desk.page.getByRole("link", { name: "does not load, line 27" }).click();
    await desk.page.getByRole("heading", { name: "Import errors" }).waitFor();
    await keepPicture(desk.page, "import-errors");
    await expectClean(desk.page);
    await desk.page.getByRole("link", { name: "about the file" }).click();
    await desk.page.getByRole("heading", { name: "Files" }).waitFor();
    await expect.poll(() => desk.page.getByLabel("Search files").inputValue()).toBe("dags/churn_report.ts");
    await desk.page.getByLabel("Search files").fill("nothing like it");
    await desk.page.getByText("No file matches").waitFor();
  });

  test("B2: warnings of a DAG stand above its views", async () => {
    const dag = desk.world.dags.get("orders_report")!;
    const message = "31 versions within an hour: does the file read the clock at import?";
    dag.detail = { ...dag.detail, warnings: [{ code: "versions_pile_up", message }] };
    await desk.open("/dags/orders_report?show=graph");
    await desk.page.getByText(message).waitFor();
  });
});
