import { beforeEach, describe, expect, test } from "vitest";
import { whyNoBrowser } from "./browser.ts";
import { APPROVALS, addWaits, endNow } from "./fixtures/waits.ts";
import { cellKey, setCell, type FixtureRun } from "./fixtures/world.ts";
import { expectClean, keepPicture } from "./look.ts";
import { LIVE_MS, useDesk } from "./support.ts";

describe.skipIf(whyNoBrowser() !== null)("waits", () => {
  const desk = useDesk({ permissions: ["clipboard-read", "clipboard-write"] });
  let run: FixtureRun;
  beforeEach(() => {
    run = addWaits(desk.world);
  });
  const details = () => desk.page.getByRole("complementary", { name: "Details" });
  const dialog = () => desk.page.getByRole("dialog");
  const wait = () => details().getByRole("region", { name: "Wait" });
  const fact = (name: string) =>
    wait().locator("dt").getByText(name, { exact: true }).locator("xpath=following-sibling::dd[1]");
  const state = () => details().locator(".state-line .state-word");
  const field = (name: string) => dialog().locator(`[data-field="${name}"]`);
  const endButton = () => wait().getByRole("button", { name: "End wait" });
  const send = () => dialog().getByRole("button", { name: "End the wait" });
  const taskOf = (taskId: string, mapIndex = -1) => run.tasks.get(cellKey(taskId, mapIndex))!;
  const openTask = (taskId: string, more = "") =>
    desk.open(`/dags/${APPROVALS}?run=${run.detail.runId}&task=${taskId}${more}`);
  const focused = () => desk.page.evaluate("document.activeElement?.closest('[data-field]')?.dataset.field");

  test("A6: what waits for somebody says since when, until when and where; a form made of its schema ends it", async () => {
    desk.expectErrors(/400/);
    await openTask("sign_off");
    await details().getByText("waits for somebody to end it, until").waitFor();
    expect(await details().locator(".why").innerText()).not.toMatch(/\dT\d\d:\d\d/);
    await fact("Waits since").getByText("1 h ago").waitFor();
    await fact("Time-out").getByText("in 1 h").waitFor();
    const { url } = taskOf("sign_off").tries[0]!.waits[0]!;
    await fact("Address").getByText(url!).waitFor();
    await fact("Address").getByRole("button", { name: "copy" }).click();
    await fact("Address").getByRole("button", { name: "copied" }).waitFor();
    expect(await desk.page.evaluate("navigator.clipboard.readText()")).toBe(url);
    await keepPicture(desk.page, "wait-event");
    await expectClean(desk.page);

    await endButton().click();
    await dialog().getByRole("heading", { name: "End the wait of sign_off" }).waitFor();
    await expect.poll(focused).toBe("approved");
    await send().click();
    await field("by").getByText("Needed: there is no default").waitFor();
    await expect.poll(focused).toBe("by");
    await keepPicture(desk.page, "wait-end");
    await expectClean(desk.page);
    await field("approved").getByLabel("Approved").check();
    await field("by").getByRole("textbox").fill("ada");
    await field("percent").getByRole("textbox").fill("60");
    await field("percent").getByText("Too large: at most 50").waitFor();
    // What the form cannot know, the API says at its field.
    await dialog().getByRole("button", { name: "JSON" }).click();
    await dialog()
      .getByRole("textbox", { name: "Payload" })
      .fill('{"approved": true, "by": "ada", "percent": "x"}');
    await send().click();
    await dialog().getByRole("alert").getByText("payload does not fit what task").waitFor();
    await dialog().getByRole("button", { name: "Form" }).click();
    await dialog().getByRole("alert").getByText("Not ended: see the marked fields.").waitFor();
    await field("percent")
      .getByText("Not a number")
      .or(field("percent").getByText("expected"))
      .first()
      .waitFor();
    await field("percent").getByRole("textbox").fill("5");
    await send().click();
    await dialog().waitFor({ state: "detached" });
    await wait().getByRole("status").getByText("You ended the wait").waitFor();
    await state().getByText("success").waitFor();
    await details().getByText("for somebody: ended by page").waitFor();
    expect(taskOf("sign_off").tries.at(-1)!.output).toEqual({ approved: true, by: "ada", percent: 5 });
  });

  test("A6: without a schema any JSON ends it, nothing is null; a schema of one value has one field", async () => {
    await openTask("release");
    await endButton().click();
    await dialog().getByRole("textbox", { name: "Payload" }).fill("[1,");
    await dialog().getByText("Not JSON").waitFor();
    await expect.poll(() => send().isDisabled()).toBe(true);
    await dialog().getByRole("textbox", { name: "Payload" }).fill('["a"]');
    await desk.page.keyboard.press("Control+Enter");
    await dialog().waitFor({ state: "detached" });
    expect(taskOf("release").tries.at(-1)!.output).toEqual(["a"]);
    await openTask("verdict");
    await endButton().click();
    await field("payload").getByRole("combobox").selectOption("no go");
    await send().click();
    await dialog().waitFor({ state: "detached" });
    expect(taskOf("verdict").tries.at(-1)!.output).toBe("no go");
    await openTask("ask", "&map=2");
    await endButton().click();
    await dialog().getByRole("heading", { name: "End the wait of ask[2]" }).waitFor();
    await send().click();
    await dialog().waitFor({ state: "detached" });
    expect(taskOf("ask", 2).tries.at(-1)!.output).toBeNull();
  });

  test("A6: by keys alone: the wait is ended, and Escape leaves it open", async () => {
    await openTask("release");
    await endButton().focus();
    await desk.page.keyboard.press("Enter");
    await dialog().getByRole("heading", { name: "End the wait of release" }).waitFor();
    await desk.page.keyboard.press("Escape");
    await dialog().waitFor({ state: "detached" });
    await expect.poll(() => desk.page.evaluate("document.activeElement?.textContent")).toBe("End wait …");
    await desk.page.keyboard.press("Enter");
    await expect.poll(() => desk.page.evaluate("document.activeElement?.tagName")).toBe("TEXTAREA");
    await desk.page.keyboard.type('{"by": "keys"}');
    await desk.page.keyboard.press("Tab");
    await desk.page.keyboard.press("Tab");
    await desk.page.keyboard.press("Enter");
    await dialog().waitFor({ state: "detached" });
    expect(taskOf("release").tries.at(-1)!.output).toEqual({ by: "keys" });
  });

  test("A6 K39: who comes second is told who was first and when, what was typed stays; who is late is told so", async () => {
    desk.expectErrors(/409/);
    await openTask("release");
    await endButton().click();
    await dialog().getByRole("textbox", { name: "Payload" }).fill('"mine"');
    endNow({ run, task: taskOf("release") }, "ada", "theirs");
    await dialog()
      .getByRole("alert")
      .getByText("It is over already: ended by ada")
      .waitFor({ timeout: LIVE_MS });
    await expect.poll(() => send().isDisabled()).toBe(true);
    expect(await dialog().getByRole("textbox", { name: "Payload" }).inputValue()).toBe('"mine"');
    await keepPicture(desk.page, "wait-second");
    await expectClean(desk.page);
    await dialog().getByRole("button", { name: "Cancel" }).click();
    await details().getByText("for somebody: ended by ada").waitFor();
    // Both press the button in the same moment.
    await openTask("ask", "&map=0");
    await endButton().click();
    await desk.page.route("**/waits/ask**", async (route) => {
      endNow({ run, task: taskOf("ask", 0) }, "bob", null);
      await route.continue();
    });
    await send().click();
    await dialog().getByRole("alert").getByText("It is over already: ended by bob").waitFor();
    await dialog().getByRole("button", { name: "Cancel" }).click();
    await openTask("verdict");
    await endButton().click();
    await field("payload").getByRole("combobox").selectOption("go");
    const { tries } = taskOf("verdict");
    tries[0] = { ...tries[0]!, waits: [{ ...tries[0]!.waits[0]!, until: new Date(0).toISOString() }] };
    await send().click();
    await dialog()
      .getByRole("alert")
      .getByText("does not wait for this any more: its time is over")
      .waitFor();
  });

  test("A6: a sensor is checked at once when asked, and what came of it is said", async () => {
    await openTask("file");
    await fact("Checks").getByText("124, every 30 s").waitFor();
    await fact("Last check").getByText("s ago").waitFor();
    await fact("Next check").getByText("in ").waitFor();
    expect(await wait().getByRole("button", { name: "End wait" }).count()).toBe(0);
    await keepPicture(desk.page, "wait-sensor");
    await wait().getByRole("button", { name: "Check now" }).click();
    await wait().getByRole("status").getByText("Its check is due").waitFor();
    await wait().getByRole("status").getByText("Checked: not yet.").waitFor();
    await fact("Checks").getByText("125, every 30 s").waitFor();
    await expectClean(desk.page);
  });

  test("A6: a check that cannot be made says why", async () => {
    desk.expectErrors(/409/);
    await openTask("load_done");
    const check = wait().getByRole("button", { name: "Check now" });
    await check.waitFor();
    await desk.page.route("**/poke**", (route) =>
      route.fulfill({
        status: 409,
        contentType: "application/problem+json",
        body: JSON.stringify({
          status: 409,
          code: "check_under_way",
          detail: "it is being checked now",
          details: {},
        }),
      }),
    );
    await check.click();
    await wait().getByRole("alert").getByText("it is being checked now").waitFor();
  });

  test("A6: what waits for another run leads to it; what waits for a time says which", async () => {
    await openTask("noon");
    await fact("Its time").getByText("in 1 h").waitFor();
    expect(await wait().getByRole("button").count()).toBe(0);
    await openTask("load_done");
    await fact("Other run").getByRole("link").click();
    await desk.page.waitForURL("**/dags/sales_daily?**");
    await desk.expectQuery({ task: "load" });
  });

  test("A6 K39: a wait is ended ahead of its beginning, once", async () => {
    await openTask("last_word");
    await wait().getByRole("button", { name: "End its wait ahead" }).click();
    await dialog().getByText("The task has not begun to wait").waitFor();
    await send().click();
    await dialog().waitFor({ state: "detached" });
    await wait().getByText("Its wait was ahead of its beginning ended by page").waitFor();
    expect(await wait().getByRole("button").count()).toBe(0);
    await expectClean(desk.page);
  });

  test("A6: instances that wait are counted by state, listed with why, and picked from the list", async () => {
    await openTask("ask");
    const instances = details().getByRole("region", { name: "Instances" });
    await instances.getByRole("button", { name: "all 5" }).waitFor();
    await instances.getByRole("button", { name: "success 2" }).waitFor();
    await instances.getByRole("button", { name: "deferred 3" }).click();
    await instances.getByText("List of them").click();
    const rows = instances.getByRole("list", { name: "List of instances" }).getByRole("listitem");
    await expect.poll(() => rows.count()).toBe(3);
    await rows.nth(2).getByText("waits for somebody to end it").waitFor();
    await keepPicture(desk.page, "wait-instances");
    await expectClean(desk.page);
    await rows.nth(2).getByRole("link", { name: "ask[4]" }).click();
    await desk.expectQuery({ map: "4" });
    endNow({ run, task: taskOf("ask", 4) }, "ada", null);
    await instances.getByRole("button", { name: "deferred 2" }).waitFor({ timeout: LIVE_MS });
  });

  test("A6: a wait's end is on the page within 2 s, whoever ends it", { retry: 2 }, async () => {
    await openTask("release");
    await endButton().waitFor();
    endNow({ run, task: taskOf("release") }, "ada", null);
    await state().getByText("success").waitFor({ timeout: LIVE_MS });
    await details().getByText("for somebody: ended by ada").waitFor({ timeout: LIVE_MS });
  });

  test("F16: why a try waited for its slots is kept with it, with what it was deferred for; of one to come, too", async () => {
    await openTask("export");
    await details()
      .getByText("12.0 s: pool warehouse: all 4 slots are in use; 3 requests are before it")
      .waitFor();
    await details().getByText("12 min 00 s for somebody: ended by ada").waitFor();
    await details().getByText("15 min 00 s for a time: its time came").waitFor();
    await keepPicture(desk.page, "wait-kept");
    await expectClean(desk.page);
    await openTask("publish");
    await details().getByText("Try 1 has waited:").waitFor();
    await details().getByText('2 min 00 s: no worker of queue "default" lives').waitFor();
    await expectClean(desk.page);
  });

  test("A6: the Gantt has what a try was deferred as a part of its bar, over or not", async () => {
    await desk.open(`/dags/${APPROVALS}?show=gantt&run=${run.detail.runId}`);
    const gantt = desk.page.getByRole("region", { name: "Gantt" });
    await gantt
      .getByRole("button", {
        name: /^export: success; .*waited without a slot 12 min 00 s, .*for somebody, ended by ada/,
      })
      .waitFor();
    await gantt
      .getByRole("button", { name: /^file: deferred; .*waits without a slot 1 h 02 min.*for its check/ })
      .waitFor();
    expect(await gantt.locator(".row-bars .bar.deferred").count()).toBeGreaterThanOrEqual(11);
    await keepPicture(desk.page, "wait-gantt");
    await expectClean(desk.page);
    endNow({ run, task: taskOf("file") }, null, null);
    await gantt
      .getByRole("button", { name: /^file: success; .*waited without a slot .*its check said yes/ })
      .waitFor();
  });

  test("A6: all that waits, over all DAGs or of one; by kind and search, which the URL keeps", async () => {
    setCell(desk.world.dags.get("regions")!.runs.at(-1)!, { taskId: "total", state: "success" });
    await desk.open("/dags");
    await desk.page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Waits" }).click();
    const rows = desk.page.getByRole("table").locator("tbody").getByRole("row");
    await expect.poll(() => rows.count()).toBe(9);
    await rows.filter({ hasText: "sign_off" }).getByText("1 h 58 min").waitFor();
    await rows.filter({ hasText: "load_done" }).getByText('waits for task "load" of run').waitFor();
    await keepPicture(desk.page, "waits");
    await expectClean(desk.page);
    await desk.page.getByRole("button", { name: "For its check" }).click();
    await expect.poll(() => rows.count()).toBe(1);
    await desk.expectQuery({ for: "sensor" });
    await desk.page.getByRole("button", { name: "All" }).click();
    await desk.page.getByLabel("Search waits").fill("ask");
    await expect.poll(() => rows.count()).toBe(3);
    await desk.expectQuery({ q: "ask", for: null });
    await desk.page.reload();
    await rows.getByRole("link", { name: "ask[2]" }).click();
    await desk.expectQuery({ task: "ask", map: "2" });
    await desk.page.goBack();
    endNow({ run, task: taskOf("ask", 2) }, "ada", null);
    await expect.poll(() => rows.count(), { timeout: LIVE_MS }).toBe(2);
    await desk.page.getByLabel("Search waits").fill("nothing like it");
    await desk.page.getByText("No such waits").waitFor();
    await desk.open(`/dags/${APPROVALS}`);
    await details().getByRole("link", { name: "those that wait without a slot" }).click();
    await desk.expectQuery({ dag: APPROVALS });
    await desk.page.getByRole("button", { name: `No longer of DAG ${APPROVALS}` }).click();
    await desk.expectQuery({ dag: null });
  });

  test("A6: many waits come page by page; without any, the page says what stands there", async () => {
    const plan = taskOf("ask", 0);
    for (let index = 5; index < 160; index++) {
      const task = setCell(run, {
        taskId: "ask",
        mapIndex: index,
        state: "deferred",
        startedAt: Date.now() - 9000,
      });
      task.tries[0] = { ...task.tries[0]!, waits: plan.tries[0]!.waits };
    }
    await desk.open(`/waits?dag=${APPROVALS}`);
    const rows = desk.page.getByRole("table").locator("tbody").getByRole("row");
    await expect.poll(() => rows.count()).toBe(100);
    await desk.page.getByRole("button", { name: "More waits" }).click();
    await expect.poll(() => rows.count()).toBe(164);
    await desk.page.setViewportSize({ width: 400, height: 800 });
    await keepPicture(desk.page, "narrow-waits");
    const width = () => desk.page.evaluate<number>("document.documentElement.scrollWidth");
    await expect.poll(width).toBeLessThanOrEqual(400);
    desk.world.dags.delete(APPROVALS);
    await desk.open("/waits");
    await desk.page.getByText("Nothing waits").waitFor();
  });
});
