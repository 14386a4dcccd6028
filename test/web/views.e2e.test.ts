import { beforeEach, describe, expect, test } from "vitest";
import { whyNoBrowser } from "./browser.ts";
import { addThousand, addViews } from "./fixtures/views.ts";
import { setCell } from "./fixtures/world.ts";
import { expectClean, keepPicture } from "./look.ts";
import { LIVE_MS, useDesk } from "./support.ts";

describe.skipIf(whyNoBrowser() !== null)("graph, Gantt and code", () => {
  const desk = useDesk();
  let run = "";
  beforeEach(() => {
    desk.world.views = addViews(desk.world, Date.now());
    run = desk.world.dags.get("orders_report")!.runs.at(-1)!.detail.runId;
  });
  const details = () => desk.page.getByRole("complementary", { name: "Details" });
  const graph = () => desk.page.getByRole("region", { name: "Graph" });
  const gantt = () => desk.page.getByRole("region", { name: "Gantt" });
  const code = () => desk.page.getByRole("region", { name: "Code" });
  const node = (name: RegExp | string) => graph().getByRole("button", { name });
  const orders = () => desk.world.dags.get("orders_report")!;

  test("C1: graph: the states of the run that is picked, the task that is clicked, both in the URL", async () => {
    await desk.open("/dags/orders_report?show=graph&version=3");
    await node(/^Task join$/).waitFor();
    await keepPicture(desk.page, "graph");
    await graph().getByRole("combobox").selectOption(run);
    await desk.expectQuery({ version: null });
    await node(/^Task join success/).waitFor();
    await node(/^Task Read the files success × 3/).waitFor();
    await graph().getByRole("button", { name: "Fit the whole graph" }).click();
    await node(/^Task late failed/).click();
    await details().getByRole("heading", { name: "check.late" }).waitFor();
    await desk.expectQuery({ run, task: "check.late" });
    await desk.page.reload();
    await details().getByRole("heading", { name: "check.late" }).waitFor();
    await expect.poll(() => node(/^Task late failed/).getAttribute("aria-pressed")).toBe("true");
    await keepPicture(desk.page, "graph-run");
    await desk.page.goBack();
    await desk.expectQuery({ task: null });
    await expectClean(desk.page);
  });

  test("C1: graph without a choice shows the latest run, which a click makes the choice; a version stands alone too", async () => {
    await desk.open("/dags/orders_report?show=graph");
    await node(/^Task join success/).waitFor();
    await desk.expectQuery({ run: null });
    await node(/^Task join success/).click();
    await desk.expectQuery({ run, task: "join" });
    await graph().getByRole("combobox").selectOption({ label: "no run: version 3" });
    await node(/^Task join$/).waitFor();
    await desk.expectQuery({ run: null, version: "3" });
    await desk.open("/dags/orders_report?show=graph&version=1");
    await graph().getByText("This is version 1; the current one is 3.").waitFor();
    await graph().getByRole("combobox").selectOption({ label: "the latest" });
    await node(/^Task join success/).waitFor();
    await desk.open("/dags/brand_new?show=graph");
    await node(/^Task /)
      .first()
      .waitFor();
  });

  // A machine crowded by other tests may be late once.
  test("graph: a task's new state is seen within 2 s", { retry: 2 }, async () => {
    await desk.open(`/dags/orders_report?show=graph&run=${run}`);
    await node(/^Task sums running/).waitFor();
    setCell(orders().runs.at(-1)!, {
      taskId: "check.sums",
      state: "success",
      startedAt: Date.now() - 9000,
      tookMs: 5000,
    });
    await node(/^Task sums success/).waitFor({ timeout: LIVE_MS });
  });

  test("F10: groups fold to one node that counts its tasks; the URL keeps it", async () => {
    await desk.open(`/dags/orders_report?show=graph&run=${run}`);
    await node(/^Task rows/).waitFor();
    await desk.page.keyboard.press("f");
    await graph().getByRole("button", { name: "Fold group Checks" }).click();
    await node(/^Group Checks, folded, 3 tasks: 1 running, 1 success, 1 failed$/).waitFor();
    await node(/^Task rows/).waitFor({ state: "detached" });
    await desk.expectQuery({ fold: ["check"] });
    await graph().getByRole("button", { name: "Fold all groups" }).click();
    await node(/^Group Extract, folded, 4 tasks/).waitFor();
    const groups = graph().getByRole("button", { name: /^Group / });
    await expect.poll(() => groups.count()).toBe(2);
    // Of the edges into and out of the two groups, one each: start, Extract, join, Checks, load and report.
    await expect.poll(() => graph().locator(".react-flow__edge").count()).toBe(6);
    await keepPicture(desk.page, "graph-folded");
    await expectClean(desk.page);
    await desk.page.reload();
    await graph().getByRole("button", { name: "Open all" }).click();
    await node(/^Task rows/).waitFor();
    await graph().getByRole("button", { name: "Fit the whole graph" }).click();
    await node(/^Group Checks, 3 tasks/).click();
    await desk.expectQuery({ group: "check" });
  });

  test("graph by keyboard: one stop for Tab, arrows along the edges, Space folds, Enter opens", async () => {
    await desk.open(`/dags/orders_report?show=graph&run=${run}&task=join`);
    await node(/^Task join/).focus();
    await desk.page.keyboard.press("ArrowRight");
    await expect.poll(() => focused()).toMatch(/^Task (rows|sums|late)/);
    await desk.page.keyboard.press("ArrowRight");
    await expect.poll(() => focused()).toMatch(/^Task (load|report)/);
    await desk.page.keyboard.press("Enter");
    await expect.poll(desk.address).toMatch(/task=(load|report)/);
    await node(/^Group Checks/).focus();
    await desk.page.keyboard.press("Space");
    await node(/^Group Checks, folded/).waitFor();
    await expect.poll(() => focused()).toMatch(/^Checks/);
    await expect.poll(() => graph().locator('[data-key][tabindex="0"]').count()).toBe(1);
  });
  const focused = () => desk.page.evaluate("document.activeElement?.textContent ?? ''");

  test("graph: zoom, fit and the way work flows, by button and key", async () => {
    await desk.open("/dags/orders_report?show=graph&version=3");
    await node(/^Task join$/).waitFor();
    const zoom = async (): Promise<number> =>
      Number(
        /scale\(([\d.]+)\)/.exec(
          (await graph().locator(".react-flow__viewport").getAttribute("style")) ?? "",
        )?.[1],
      );
    // The first sight is set once its room is known.
    await expect.poll(zoom).not.toBe(1);
    const before = await zoom();
    await graph().getByRole("button", { name: "Zoom in" }).click();
    await expect.poll(zoom).toBeGreaterThan(before);
    await desk.page.keyboard.press("f");
    await expect.poll(zoom).toBeLessThan(before);
    await graph().getByRole("button", { name: "Let work flow downwards" }).click();
    const top = async (name: RegExp) => (await node(name).boundingBox())!.y;
    await expect
      .poll(async () => (await top(/^Task join$/)) - (await top(/^Task start$/)))
      .toBeGreaterThan(50);
    await keepPicture(desk.page, "graph-down");
    await desk.page.reload();
    await graph().getByRole("button", { name: "Let work flow to the right" }).waitFor();
  });

  test("graph: a thousand tasks are drawn, searched and folded", async () => {
    addThousand(desk.world);
    await desk.open("/dags/thousand?show=graph&run=2026-05-09T00-00-00Z");
    await node(/^Task t0 success/).waitFor();
    // Only what is in sight is drawn.
    expect(await graph().locator(".react-flow__node").count()).toBeLessThan(200);
    await graph().getByLabel("Find tasks").fill("t695");
    await node(/^Task t695 running/).waitFor();
    await keepPicture(desk.page, "graph-1000");
    await graph().getByLabel("Find tasks").fill("");
    await graph().getByRole("button", { name: "Fold all groups" }).click();
    await graph().getByRole("button", { name: "Fit the whole graph" }).click();
    await expect.poll(() => graph().locator(".react-flow__node").count()).toBe(50);
  });

  test("graph: a run of an older version is drawn as that version has it", async () => {
    const old = orders().runs[0]!;
    old.detail = { ...old.detail, version: 1 };
    await desk.open(`/dags/orders_report?show=graph&run=${old.detail.runId}`);
    await graph().getByText("This run has version 1; the current one is 3.").waitFor();
    await node(/^Task join/).waitFor();
    await node(/^Task report/).waitFor({ state: "detached" });
    old.detail = { ...old.detail, version: 7 };
    desk.expectErrors(/404/);
    await desk.page.reload();
    await graph().getByText("version 7, which cannot be read").waitFor();
    await node(/^Task report/).waitFor();
  });

  test("C1: Gantt: tries as bars on the clocks of the zone, groups over theirs, all to be opened", async () => {
    await desk.open(`/dags/orders_report?show=gantt&run=${run}`);
    await gantt()
      .getByRole("button", { name: /^join: success; try 1 waited 1.4 s/ })
      .waitFor();
    const label = await gantt()
      .getByRole("button", { name: /^join: / })
      .getAttribute("aria-label");
    expect(label).toContain("try 2 ran 9.0 s");
    expect(label).toContain("(failed)");
    await gantt()
      .getByRole("button", { name: /^Group Extract: success; / })
      .waitFor();
    await gantt().getByRole("button", { name: "Read the files[2]: success", exact: false }).waitFor();
    await keepPicture(desk.page, "gantt");
    await expectClean(desk.page);
    await gantt().locator('[title^="try 1 ran"][title*="failed"]').first().click();
    await desk.expectQuery({ task: "join", try: "1" });
    await gantt().getByRole("button", { name: "Fold group Checks" }).click();
    await gantt()
      .getByRole("button", { name: /^rows: / })
      .waitFor({ state: "detached" });
    await desk.expectQuery({ fold: ["check"] });
  });

  test("Gantt: a bar under way grows; arrows go from row to row", async () => {
    await desk.open(`/dags/orders_report?show=gantt&run=${run}`);
    const bar = gantt().locator(".bar.ran.live");
    const seconds = async (): Promise<string> => (await bar.getAttribute("title")) ?? "";
    const before = await seconds();
    await expect.poll(seconds, { timeout: 5000 }).not.toBe(before);
    await gantt()
      .getByRole("button", { name: /^start: / })
      .focus();
    await desk.page.keyboard.press("ArrowDown");
    await expect
      .poll(() => desk.page.evaluate("document.activeElement?.getAttribute('aria-label')"))
      .toMatch(/^Group Extract/);
    await desk.page.keyboard.press("Space");
    await gantt()
      .getByRole("button", { name: /^Group Extract, folded/ })
      .waitFor();
  });

  test("Gantt without a choice shows the latest run, and says so when there is none", async () => {
    await desk.open("/dags/orders_report?show=gantt");
    await gantt()
      .getByRole("button", { name: /^sums: running/ })
      .waitFor();
    await desk.open("/dags/brand_new?show=gantt");
    await desk.page.getByText("No runs yet").waitFor();
  });

  test("B2 C1: the code of a version, file by file, kept in the URL", async () => {
    await desk.open("/dags/orders_report?show=code");
    await code().getByText("Orders of a day into the warehouse").waitFor();
    expect(await code().locator(".tok-keyword").first().innerText()).toBe("import");
    await code().getByRole("tab", { name: "dags/shared/orders.ts" }).click();
    await code().getByText("readOrders").first().waitFor();
    await desk.expectQuery({ path: "dags/shared/orders.ts" });
    await keepPicture(desk.page, "code");
    await expectClean(desk.page);
    await code().getByLabel("Version").selectOption("1");
    await code().getByText("the current one is 3").waitFor();
    await desk.expectQuery({ version: "1" });
    await code().getByRole("tab", { name: "dags/orders_report.ts" }).click();
    await code().getByText('"0 1 * * *"').waitFor();
    await desk.page.goBack();
    await desk.page.goBack();
    await code().getByText("the current version").waitFor();
  });

  test("B2: two versions compared: the graph in words, the sources line by line", async () => {
    await desk.open("/dags/orders_report?show=code");
    await code().getByRole("button", { name: "What changed in it" }).click();
    await code().getByText("report waits for check.late").waitFor();
    await code().getByText("load no longer waits for clean").waitFor();
    await code().getByText("timetable.cron:").waitFor();
    await desk.expectQuery({ version: "3", against: "2" });
    const removed = code().locator(".line.removed");
    expect(await removed.getAttribute("data-before")).toBe("7");
    expect(await removed.innerText()).toContain('schedule: "0 2 * * *"');
    await keepPicture(desk.page, "diff");
    await expectClean(desk.page);
    await code().getByRole("button", { name: "Swap" }).click();
    await desk.expectQuery({ version: "2", against: "3" });
    await code().getByText("Nothing changed").waitFor();
    await code().getByRole("button", { name: "Show the code" }).click();
    await code().getByText('"0 2 * * *"').waitFor();
  });

  test("F9: docs in Markdown: no HTML of the text, no script address, links that know nothing of the page", async () => {
    await desk.open("/dags/orders_report");
    await details().getByRole("heading", { name: "Orders of a day" }).waitFor();
    await details().getByRole("cell", { name: "finance" }).first().waitFor();
    const link = details().getByRole("link", { name: "the handbook" });
    expect(await link.getAttribute("rel")).toContain("noopener");
    expect(await details().getByRole("link", { name: "this", exact: true }).count()).toBe(0);
    await details().getByText('alert("no")').waitFor();
    expect(await details().locator("script").count()).toBe(0);
    await expectClean(desk.page);
  });
});
