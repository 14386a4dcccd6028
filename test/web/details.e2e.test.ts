import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { formatLine } from "../../platform/logs/format.ts";
import { whyNoBrowser } from "./browser.ts";
import { setCell } from "./fixtures/world.ts";
import { expectClean, keepPicture } from "./look.ts";
import { useDesk } from "./support.ts";

describe.skipIf(whyNoBrowser() !== null)("details", () => {
  const desk = useDesk();
  const details = () => desk.page.getByRole("complementary", { name: "Details" });
  const log = () => details().getByRole("region", { name: "Log" });
  const LOAD = "/dags/seattle_weather?run=2015-12-09T00-00-00Z&task=load";

  test("C1 F9: a log is searched, filtered by level, linked to and downloaded; the URL keeps it", async () => {
    await desk.open(LOAD);
    await log().getByText("5 lines").waitFor();
    await log().getByLabel("Search the log").fill("ROWS");
    await log().getByText("2 of 5 lines").waitFor();
    await expect.poll(() => log().locator("mark").allInnerTexts()).toEqual(["rows", "rows"]);
    await log().getByLabel("Level").selectOption("warn");
    await log().getByText("1 of 5 lines").waitFor();
    await log().getByRole("button", { name: "Link to line 4" }).click();
    await desk.expectQuery({ find: "ROWS", level: "warn", line: "4" });
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

  test("F9: a link to a line of a long log opens at that line; the end is followed only when asked for", async () => {
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
    await log().getByText("and one more").waitFor();
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

  test("C1: run and task have the whole page when wanted, and go back beside the grid", async () => {
    await desk.open("/dags/seattle_weather?run=2015-12-09T00-00-00Z");
    await details().getByRole("link", { name: "Open at full width" }).click();
    await desk.page.getByRole("grid").waitFor({ state: "detached" });
    const rows = details().getByRole("table").getByRole("row");
    await expect.poll(() => rows.count()).toBe(5);
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

  test("F16: a run none of whose tasks is at work says how many wait, and how many of them for ever", async () => {
    const run = desk.world.dags.get("regions")!.runs.at(-1)!;
    run.detail = { ...run.detail, state: "running", endedAt: null, reason: null };
    run.tasks.clear();
    const wait = (taskId: string, reason: string): void => {
      setCell(run, { taskId, state: "queued" }).waiting = {
        taskId,
        mapIndex: -1,
        try: 1,
        pool: "warehouse",
        slots: 1,
        reason,
        since: new Date(Date.now() - 41_000).toISOString(),
      };
    };
    const open = (): Promise<void> => desk.open(`/dags/regions?run=${run.detail.runId}`);
    wait("list_regions", "pool warehouse: all 4 slots are in use");
    await open();
    await details().getByText("1 task waits").waitFor();
    await details().getByText("all 4 slots are in use").waitFor();
    wait("load_region", 'can never run: pool "nowhere" does not exist');
    await open();
    await details().getByText("2 tasks wait; 1 of them can never run").waitFor();
    wait("list_regions", 'can never run: pool "nowhere" does not exist');
    await open();
    await details().getByText("Waits: 2 tasks can never run").waitFor();
    setCell(run, { taskId: "total", state: "running", startedAt: Date.now() - 1000 });
    await open();
    await details().getByRole("link", { name: "total" }).waitFor();
    await details().getByText("can never run", { exact: false }).first().waitFor();
    expect(await details().getByText("2 tasks").count()).toBe(0);
  });

  test("a file that went back to what it was: the version in force is an older number, since it went back", async () => {
    // The made-up DAG has no sources to compare.
    desk.expectErrors(/404/);
    const dag = desk.world.dags.get("sales_daily")!;
    const before = dag.detail;
    dag.detail = {
      ...before,
      version: 2,
      versionBefore: 3,
      versionSince: new Date(Date.now() - 3_600_000).toISOString(),
      versions: before.versions.map((one) => ({ ...one, current: one.number === 2 })),
    };
    await desk.open("/dags/sales_daily");
    await details()
      .getByRole("definition")
      .filter({ hasText: /^2, since 1.? ?h/ })
      .waitFor();
    await desk.open("/dags/sales_daily?show=code");
    await desk.page.getByText("the current version").waitFor();
    await desk.page.getByRole("button", { name: "What changed in it" }).click();
    await desk.expectQuery({ version: "2", against: "3" });
    dag.detail = before;
  });

  test("C1 F9: the DAG's own details: coming runs, its doc, what is wrong with it", async () => {
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
    await desk.expectQuery({ tag: ["tier-1"] });
  });
});
