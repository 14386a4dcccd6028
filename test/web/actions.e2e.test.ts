import { describe, expect, test } from "vitest";
import { whyNoBrowser } from "./browser.ts";
import { useDesk } from "./support.ts";

describe.skipIf(whyNoBrowser() !== null)("actions", () => {
  const desk = useDesk();
  const dialog = () => desk.page.getByRole("dialog");
  const details = () => desk.page.getByRole("complementary", { name: "Details" });

  test("C1: trigger with date and conf: the new run opens", async () => {
    await desk.open("/dags/seattle_weather");
    await desk.page.getByRole("button", { name: "Trigger" }).click();
    await dialog().getByLabel("Logical date").fill("2016-01-05");
    await dialog().getByLabel("Conf").fill('{"region": "north"}');
    await dialog().getByRole("button", { name: "Trigger" }).click();
    await dialog().waitFor({ state: "detached" });
    await details().getByRole("heading", { name: "Run 2016-01-05 00:00" }).waitFor();
    await details().getByText('"region": "north"').waitFor();
    expect(desk.world.dags.get("seattle_weather")?.runs.at(-1)?.detail.conf).toEqual({ region: "north" });
    await desk.page
      .getByRole("columnheader", { name: /^Run 2016-01-05 00:00: running, triggered by hand/ })
      .waitFor();
  });

  test("Ctrl+Enter triggers from a text of several lines, once it can be sent", async () => {
    await desk.open("/dags/seattle_weather");
    await desk.page.getByRole("button", { name: "Trigger" }).click();
    await dialog().getByLabel("Logical date").fill("2016-01-06");
    await dialog().getByLabel("Conf").fill("{");
    await desk.page.keyboard.press("Control+Enter");
    await desk.page.keyboard.press("Enter");
    await expect.poll(() => dialog().getByLabel("Conf").inputValue()).toBe("{\n");
    await desk.page.keyboard.insertText('"by": "keys"}');
    await desk.page.keyboard.press("Control+Enter");
    await dialog().waitFor({ state: "detached" });
    await details().getByText('"by": "keys"').waitFor();
  });

  test("trigger a date that has a run: the existing run is said and can be opened", async () => {
    desk.expectErrors(/409/);
    await desk.open("/dags/seattle_weather");
    await desk.page.getByText("About this DAG").waitFor();
    await desk.page.keyboard.press("t");
    await dialog().getByLabel("Logical date").fill("2015-12-09 00:00");
    await dialog().getByRole("button", { name: "Trigger" }).click();
    await dialog().getByRole("alert").getByText("has a run for 2015-12-09T00:00:00.000Z already").waitFor();
    await dialog().getByRole("button", { name: "Open the run 2015-12-09T00-00-00Z" }).click();
    await details().getByRole("heading", { name: "Run 2015-12-09 00:00" }).waitFor();
    expect(desk.world.dags.get("seattle_weather")?.runs.length).toBe(31);
  });

  test("a dialog gives the focus back to the button that opened it, however it is left", async () => {
    await desk.open("/dags/seattle_weather");
    const trigger = desk.page.getByRole("button", { name: "Trigger" }).first();
    const focused = () => desk.page.evaluate("document.activeElement?.textContent");
    await trigger.focus();
    for (const leave of [
      () => desk.page.keyboard.press("Escape"),
      () => dialog().getByRole("button", { name: "Cancel" }).click(),
    ]) {
      await desk.page.keyboard.press("Enter");
      await dialog().getByLabel("Logical date").waitFor();
      await leave();
      await dialog().waitFor({ state: "detached" });
      await expect.poll(focused).toBe("Trigger");
    }
  });

  test("conf and date are checked before anything is sent", async () => {
    await desk.open("/dags/sales_daily?tz=dag");
    await desk.page.getByRole("button", { name: "Trigger" }).click();
    const send = dialog().getByRole("button", { name: "Trigger" });
    await dialog().getByLabel("Conf").fill("{a: 1}");
    await dialog().getByText("Not JSON").waitFor();
    await expect.poll(() => send.isDisabled()).toBe(true);
    await dialog().getByLabel("Conf").fill("[1]");
    await dialog().getByText("Conf is an object").waitFor();
    await dialog().getByLabel("Conf").fill("");
    await expect.poll(() => send.isDisabled()).toBe(false);
    await dialog().getByLabel("Logical date").fill("2026-03-29 02:30");
    await dialog().getByText("The clocks of Europe/Berlin leave this time out").waitFor();
    await expect.poll(() => send.isDisabled()).toBe(true);
    await dialog().getByLabel("Logical date").fill("2026-10-25 02:30");
    await dialog().getByText("the first of two (+02:00), which is 2026-10-25 00:30:00 UTC").waitFor();
    await dialog().getByLabel("Logical date").fill("tomorrow");
    await dialog().getByText("Not a date").waitFor();
  });

  test("C1: pause asks for a reason, shows it, and is undone by the banner's button", async () => {
    await desk.open("/dags/sales_daily");
    await desk.page.getByRole("switch").click();
    await dialog().getByLabel("Reason").fill("the warehouse is being moved");
    await desk.page.keyboard.press("Enter");
    await desk.page.getByText("Paused by ada: the warehouse is being moved.").waitFor();
    expect(desk.world.dags.get("sales_daily")?.detail.pauseReason).toBe("the warehouse is being moved");
    await desk.page.getByRole("button", { name: "Switch it on" }).click();
    await desk.page.getByText("Paused by ada").waitFor({ state: "detached" });
    await expect.poll(() => desk.page.getByRole("switch").getAttribute("aria-checked")).toBe("true");
  });

  test("the theme goes from the system's to light and dark, and is remembered before the first paint", async () => {
    await desk.open("/dags");
    const button = desk.page.getByRole("button", { name: /^Theme: / });
    await button.click();
    await button.click();
    await desk.page.getByRole("button", { name: "Theme: dark. Switch to system" }).waitFor();
    await desk.page.reload({ waitUntil: "domcontentloaded" });
    expect(await desk.page.locator("html").getAttribute("data-theme")).toBe("dark");
  });
});
