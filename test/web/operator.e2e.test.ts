/** What an operator who is new to the page fell over. */
import { describe, expect, test } from "vitest";
import { formatDay } from "../../web/src/time/format.ts";
import { whyNoBrowser } from "./browser.ts";
import { addRun, setCell, type FixtureRun } from "./fixtures/world.ts";
import { expectClean, keepPicture } from "./look.ts";
import { LIVE_MS, useDesk } from "./support.ts";

const DAY = 86_400_000;

describe.skipIf(whyNoBrowser() !== null)("an operator", () => {
  const desk = useDesk();
  const details = () => desk.page.getByRole("complementary", { name: "Details" });
  const rows = (text: string) => desk.page.getByRole("row").filter({ hasText: text });
  const focused = () =>
    desk.page.evaluate<string>("document.activeElement?.closest('label')?.firstChild?.textContent ?? ''");
  const width = () => desk.page.evaluate<number>("document.documentElement.scrollWidth");

  /** A daily run that began today and is about the day before yesterday. */
  const lastNight = (): FixtureRun => {
    const run = addRun(desk.world.dags.get("brand_new")!, {
      at: Date.now() - 2 * DAY,
      lengthMs: DAY,
      state: "failed",
      startedAt: Date.now() - 60_000,
      tookMs: 5000,
    });
    setCell(run, { taskId: "only", state: "failed", startedAt: Date.now() - 60_000, tookMs: 5000 });
    return run;
  };

  test("C1: runs are found by when they began, or by their logical date, and say by which", async () => {
    lastNight();
    const today = formatDay(Date.now(), "UTC");
    await desk.open(`/runs?q=brand_new&from=${today}&tz=utc`);
    await rows("brand_new").waitFor();
    const by = desk.page.getByLabel("Which date");
    expect(await by.locator("option:checked").innerText()).toBe("Started");
    await by.selectOption({ label: "Logical date" });
    await desk.page.getByText("No such runs").waitFor();
    await desk.expectQuery({ by: "logical", from: today });
    await desk.page.reload();
    await desk.page.getByText("No such runs").waitFor();
    await desk.page.getByLabel("from").fill(formatDay(Date.now() - 2 * DAY, "UTC"));
    await rows("brand_new").waitFor();
    await desk.page.getByRole("columnheader", { name: "Logical date" }).waitFor();
    await keepPicture(desk.page, "runs-by-date");
    await expectClean(desk.page);
  });

  test("C1: the list of runs says what failed, with the way to it, and which run only waits", async () => {
    lastNight();
    const run = desk.world.dags.get("regions")!.runs.at(-1)!;
    run.detail = { ...run.detail, state: "running", endedAt: null, reason: null };
    run.tasks.clear();
    setCell(run, { taskId: "list_regions", state: "queued" });
    await desk.open("/runs");
    await rows("regions").getByText("1 task waits").waitFor();
    await keepPicture(desk.page, "runs-why");
    await expectClean(desk.page);
    await rows("brand_new").getByRole("link", { name: 'task "only" failed' }).click();
    await details().getByRole("tab", { name: "Try 1: failed" }).waitFor();
    await desk.expectQuery({ task: "only" });
  });

  test.each([1000, 1050, 1100])(
    "F9: at %i px nothing is pushed out of sight, whatever the zone's name",
    async (px) => {
      await desk.page.setViewportSize({ width: px, height: 700 });
      await desk.open("/dags?tz=America/Argentina/ComodRivadavia");
      const sales = rows("sales_daily");
      await sales.waitFor();
      await expect.poll(width).toBeLessThanOrEqual(px);
      const keys = await desk.page.getByRole("button", { name: "Keys (?)" }).boundingBox();
      expect(keys!.x + keys!.width).toBeLessThanOrEqual(px);
      const owner = await desk.page.getByRole("columnheader", { name: "Owner and tags" }).boundingBox();
      expect(owner!.width).toBeGreaterThan(130);
      await keepPicture(desk.page, `dags-${px}`);
      await desk.open("/runs?tz=America/Argentina/ComodRivadavia");
      await rows("sales_daily").first().waitFor();
      const state = await desk.page.getByRole("columnheader", { name: "State" }).boundingBox();
      expect(state!.width).toBeGreaterThan(130);
      await expect.poll(width).toBeLessThanOrEqual(px);
    },
  );

  test("F9: on a telephone the head is two lines: the way home and the choices, then the pages", async () => {
    await desk.page.setViewportSize({ width: 400, height: 800 });
    await desk.open("/runs?tz=America/Argentina/ComodRivadavia");
    await rows("sales_daily").first().waitFor();
    const top = async (name: string, role: "link" | "button") =>
      (await desk.page.getByRole(role, { name }).boundingBox())!.y;
    expect(Math.abs((await top("Meridian", "link")) - (await top("Keys (?)", "button")))).toBeLessThan(20);
    await keepPicture(desk.page, "telephone");
  });

  // A machine crowded by other tests may be late once.
  test(
    "C1: coming runs follow the switch: none while it is paused, over a reload too",
    { retry: 2 },
    async () => {
      const coming = () => details().getByRole("region", { name: "Coming runs" });
      await desk.open("/dags/sales_daily");
      await coming().waitFor();
      await desk.page.getByRole("switch").click();
      await desk.page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
      await coming().waitFor({ state: "detached" });
      await details().getByText("(once switched on)").waitFor();
      await desk.page.reload();
      await details().getByText("(once switched on)").waitFor();
      expect(await coming().count()).toBe(0);
      await desk.page.getByRole("switch").click();
      await coming().getByRole("row").nth(5).waitFor({ timeout: LIVE_MS });
      const dag = desk.world.dags.get("sales_daily")!;
      // Someone else, by the command line.
      dag.detail = { ...dag.detail, paused: true, pauseReason: "moves house" };
      await coming().waitFor({ state: "detached", timeout: LIVE_MS });
      dag.detail = { ...dag.detail, paused: false };
      await coming().waitFor({ timeout: LIVE_MS });
    },
  );

  test("F16: what can never run says what to do about it", async () => {
    const run = desk.world.dags.get("sales_daily")!.runs.at(-1)!;
    const task = run.tasks.get("enrich_with_exchange_rates -1")!;
    task.waiting = {
      ...task.waiting!,
      pool: "nowhere",
      reason: 'can never run: pool "nowhere" does not exist',
    };
    await desk.open(`/dags/sales_daily?run=${run.detail.runId}&task=enrich_with_exchange_rates`);
    await details().getByText("does not exist: make the pool, or name another in the DAG file").waitFor();
  });

  test("A12: a refused date is forgotten when it is changed; dialogs open at their first field", async () => {
    desk.expectErrors(/409/);
    await desk.open("/dags/seattle_weather");
    await desk.page.getByRole("button", { name: "Trigger" }).click();
    const dialog = desk.page.getByRole("dialog");
    const date = dialog.getByLabel("Logical date");
    await date.waitFor();
    await expect.poll(focused).toBe("Logical date");
    await date.fill("2015-12-09");
    await dialog.getByRole("button", { name: "Trigger" }).click();
    await dialog.getByRole("alert").getByText("a logical date has one run").waitFor();
    await date.fill("2015-12-09 01:00");
    await dialog.getByRole("alert").waitFor({ state: "detached" });
    await desk.page.keyboard.press("Escape");
    await desk.page.getByRole("switch").click();
    await dialog.getByLabel("Reason").waitFor();
    await expect.poll(focused).toBe("Reason");
    await desk.page.keyboard.press("Escape");
    await desk.page.getByRole("button", { name: "Views" }).click();
    await dialog.getByLabel("Save this page as").waitFor();
    await expect.poll(focused).toBe("Save this page as");
    await desk.open("/pools");
    await desk.page.getByRole("button", { name: "Edit warehouse" }).click();
    await dialog.getByLabel("Slots").waitFor();
    await expect.poll(focused).toBe("Slots");
  });

  test("C1: lost and requeued tries have a mark and a word of their own", async () => {
    const { tries } = setCell(desk.world.dags.get("seattle_weather")!.runs[8]!, {
      taskId: "load",
      state: "failed",
      startedAt: Date.now() - 60_000,
      tookMs: 400,
      try: 3,
    });
    tries[0] = { ...tries[0]!, state: "lost", error: null };
    tries[1] = { ...tries[1]!, state: "requeued", error: null };
    await desk.open("/dags/seattle_weather?run=2015-12-09T00-00-00Z&task=load");
    const tabs = details().getByRole("tab");
    await tabs.first().waitFor();
    await expect.poll(() => tabs.allInnerTexts()).toEqual(["Try 1: lost", "Try 2: requeued", "Try 3"]);
    const looks = await tabs.evaluateAll((all) =>
      all.map(
        (one) => `${one.querySelector(".mark")!.className} ${one.querySelector("path")!.getAttribute("d")}`,
      ),
    );
    expect(new Set(looks).size).toBe(3);
    expect(looks.filter((look) => look.includes("tone-failed"))).toHaveLength(1);
    await keepPicture(desk.page, "lost");
    await expectClean(desk.page);
  });

  test("C1: the card of a failed cell and the details tell the same time: how long the last try ran", async () => {
    const task = setCell(desk.world.dags.get("seattle_weather")!.runs[8]!, {
      taskId: "load",
      state: "failed",
      startedAt: Date.UTC(2026, 4, 9, 8),
      tookMs: 3,
      try: 2,
    });
    // The run decides a little after the try has ended.
    Object.assign(task.cell, { endedAt: new Date(Date.UTC(2026, 4, 9, 8, 0, 0, 52)).toISOString() });
    await desk.open("/dags/seattle_weather?run=2015-12-09T00-00-00Z&task=load");
    await details().getByRole("definition").getByText("3 ms", { exact: true }).waitFor();
    await details().getByRole("term").getByText("Ran for").waitFor();
    const card = desk.page.locator(".grid-card");
    await desk.page.getByRole("gridcell", { name: "load, 2015-12-09 00:00: failed, try 2" }).hover();
    await card.getByText("ran for 3 ms").waitFor();
    await keepPicture(desk.page, "card");
    await desk.page.getByRole("gridcell", { name: "load, 2015-12-10 00:00: success" }).hover();
    await card.getByText("ran for 380 ms").waitFor();
    await desk.page.getByRole("columnheader", { name: /^Run 2015-12-10/ }).hover();
    await card.getByText("took").waitFor();
  });

  test("C1: the details view without a pick is about the DAG, and asks for no pick", async () => {
    await desk.open("/dags/sales_daily?show=details");
    await details().getByText("About this DAG").waitFor();
    await details().getByRole("region", { name: "Coming runs" }).waitFor();
    expect(await details().getByText("Pick a run").count()).toBe(0);
    await keepPicture(desk.page, "dag-details");
    await expectClean(desk.page);
    await desk.page.keyboard.press("1");
    await details().getByText("Pick a run").waitFor();
  });

  test("the ring of the grid's focus is whole: nothing in the grid lies over it", async () => {
    await desk.open("/dags/sales_daily");
    await desk.page.getByRole("gridcell").first().waitFor();
    await desk.page.getByLabel("Filter tasks").focus();
    const ring = () =>
      desk.page.evaluate<string[]>(`(() => {
        const style = getComputedStyle(document.querySelector(".grid-frame"), "::after");
        return [style.outlineStyle, style.zIndex, style.position];
      })()`);
    await expect.poll(async () => (await ring())[0]).toBe("none");
    while ((await desk.page.evaluate("document.activeElement.getAttribute('role')")) !== "grid")
      await desk.page.keyboard.press("Tab");
    await expect.poll(ring).toEqual(["solid", "5", "absolute"]);
    await keepPicture(desk.page, "grid-focus");
  });

  test("while the API is away the log keeps its tools in place and says that it waits", async () => {
    desk.expectErrors(/ERR_|Failed to load resource/);
    const run = desk.world.dags.get("sales_daily")!.runs.at(-1)!;
    await desk.open(`/dags/sales_daily?run=${run.detail.runId}&task=clean_orders`);
    const log = details().getByRole("region", { name: "Log" });
    await log.getByText("reading 4231 rows").waitFor();
    const head = log.locator("header");
    const before = (await head.boundingBox())!;
    desk.world.away = true;
    await log.getByText("Waiting for the API to go on").waitFor();
    expect((await head.boundingBox())!.height).toBe(before.height);
    await log.getByText("reading 4231 rows").waitFor();
    await keepPicture(desk.page, "log-away");
    desk.world.away = false;
    await log.getByText("Waiting for the API to go on").waitFor({ state: "detached" });
  });
});

describe.skipIf(whyNoBrowser() !== null)("a link from one zone to another", () => {
  const here = useDesk({ timezoneId: "America/New_York" });
  const zone = () => here.page.getByLabel("Time zone");
  const chosen = () => zone().locator("option:checked").innerText();

  test("F9: the URL always holds the zone in use, so that whoever opens it sees the same times", async () => {
    await here.open("/dags/seattle_weather?run=2015-12-09T00-00-00Z");
    await here.expectQuery({ tz: "utc" });
    await zone().selectOption({ label: "Local: America/New_York" });
    await here.page.getByRole("heading", { name: "Run 2015-12-08 19:00" }).waitFor();
    await expect.poll(here.address).toMatch(/&tz=America\/New_York$/);
    // Links that are copied have it too, and so has a page opened without it from now on.
    const pools = here.page.getByRole("link", { name: "Pools" });
    await expect.poll(() => pools.getAttribute("href")).toBe("/pools?tz=America/New_York");
    await here.open("/runs");
    await here.expectQuery({ tz: "America/New_York" });
    await expect.poll(chosen).toBe("Local: America/New_York");
  });

  test("F9: a zone that is nobody's here is one more choice, for as long as it is in use", async () => {
    await here.open("/dags/seattle_weather?run=2015-12-09T00-00-00Z&tz=Asia/Kathmandu");
    await here.page.getByRole("heading", { name: "Run 2015-12-09 05:45" }).waitFor();
    await expect.poll(chosen).toBe("Asia/Kathmandu");
    await expectClean(here.page);
    await here.page.getByRole("link", { name: "DAGs", exact: true }).click();
    await here.expectQuery({ tz: "Asia/Kathmandu" });
    await zone().selectOption("utc");
    await expect.poll(() => zone().getByRole("option").allInnerTexts()).not.toContain("Asia/Kathmandu");
    await here.open("/dags?tz=Mars/Olympus");
    await here.expectQuery({ tz: "utc" });
  });
});
