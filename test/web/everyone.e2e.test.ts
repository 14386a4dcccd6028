import { describe, expect, test } from "vitest";
import { whyNoBrowser } from "./browser.ts";
import { addDag, addRun, setCell } from "./fixtures/world.ts";
import { expectClean, keepPicture } from "./look.ts";
import { useDesk } from "./support.ts";

describe.skipIf(whyNoBrowser() !== null)("for everyone", () => {
  const desk = useDesk();
  const PAGES = [
    ["dags", "/dags", "a.dag-id"],
    ["grid", "/dags/sales_daily", "[role=gridcell]"],
    ["groups", "/dags/warehouse_groups?fold=load", "[role=gridcell]"],
    ["runs", "/runs", ".runs td"],
    ["unknown", "/nowhere", "text=There is no such page"],
  ] as const;
  /** Opens a page and waits until all it reads is there. */
  const openWhole = async (path: string, shown: string): Promise<void> => {
    await desk.open(path);
    await desk.page.locator(shown).first().waitFor();
    await expect.poll(() => desk.page.locator(".loading").count()).toBe(0);
  };
  const expectWidth = async (px: number): Promise<void> => {
    await expect
      .poll(() => desk.page.evaluate<number>("document.documentElement.scrollWidth"))
      .toBeLessThanOrEqual(px);
  };

  test.each(PAGES)(
    "no rule of accessibility is broken in light and in dark: %s",
    async (name, path, shown) => {
      await openWhole(path, shown);
      await keepPicture(desk.page, name);
      await expectClean(desk.page);
    },
  );

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

  test("K68: ids as long and as odd as they may be are links that work, and push nothing out of place", async () => {
    const dagId = `A-1.b_2.${"long".repeat(48)}`;
    const taskId = `x-y.${"z".repeat(190)}`;
    const dag = addDag(desk.world, { id: dagId, tasks: [[taskId]], tags: ["50% ü/ß", "a&b=c"] });
    const run = addRun(dag, {
      at: Date.UTC(2026, 4, 9),
      lengthMs: 0,
      state: "failed",
      startedAt: 0,
      tookMs: 1,
    });
    setCell(run, { taskId, state: "failed", startedAt: 0, tookMs: 1 });
    await desk.open("/dags?q=A-1.b");
    await desk.page.getByRole("link", { name: "a&b=c" }).click();
    await desk.expectQuery({ tag: ["a&b=c"] });
    await desk.page.getByRole("link", { name: "50% ü/ß" }).click();
    await desk.expectQuery({ tag: ["a&b=c", "50% ü/ß"] });
    await desk.page.getByRole("link", { name: dagId, exact: true }).click();
    await desk.page.getByRole("gridcell", { name: `${taskId}, ` }).click();
    await desk.page
      .getByText("the try", { exact: false })
      .or(desk.page.getByText("begins, try 1"))
      .first()
      .waitFor();
    await keepPicture(desk.page, "long-ids");
    for (const width of [1440, 800, 400]) {
      await desk.page.setViewportSize({ width, height: 800 });
      await expectWidth(width);
    }
  });

  test.each([
    ...PAGES,
    ["task", "/dags/seattle_weather?run=2015-12-09T00-00-00Z&task=load", ".log-line"] as const,
  ])("a window of 400 px is no wider than it is: %s", async (name, path, shown) => {
    await desk.page.setViewportSize({ width: 400, height: 800 });
    await openWhole(path, shown);
    await keepPicture(desk.page, `narrow-${name}`);
    await expectWidth(400);
  });
});
