import { describe, expect, test } from "vitest";
import { whyNoBrowser } from "./browser.ts";
import { turn } from "./fixtures/dial.ts";
import { expectClean, keepPicture } from "./look.ts";
import { LIVE_MS, useDesk } from "./support.ts";

describe.skipIf(whyNoBrowser() !== null)("the emergency dial on the page", () => {
  const desk = useDesk();
  const dialog = () => desk.page.getByRole("dialog");
  const part = () => desk.page.getByRole("region", { name: "Emergency dial" });
  const banner = () => desk.page.getByText("The emergency dial is in force: ");

  test("B16: the banner is on every page as soon as somebody turned it, with who, why and what it holds", async () => {
    for (const path of [
      "/dags",
      "/dags/sales_daily",
      "/runs",
      "/waits",
      "/files",
      "/import-errors",
      "/nothing",
    ]) {
      delete desk.world.dial;
      await desk.open(path);
      await desk.page.getByRole("navigation", { name: "Pages" }).waitFor();
      await expect.poll(() => desk.world.streams).toBeGreaterThan(0);
      expect(await banner().count(), path).toBe(0);
      const at = Date.now();
      turn(desk.world, { tries: 20, who: "bob@cli", reason: "warehouse down" });
      await banner().waitFor({ timeout: LIVE_MS });
      expect(Date.now() - at).toBeLessThan(LIVE_MS);
    }
    await banner().getByText("at most 20 tries at once").waitFor();
    await desk.page.getByText(/Turned by bob@cli at .*: warehouse down\. It holds 9 tries back/).waitFor();
    await desk.page.getByRole("link", { name: "To the dial" }).click();
    await part().getByText("11 running, 9 held back").waitFor();
    turn(desk.world, { reason: "over" });
    await banner().waitFor({ state: "detached", timeout: LIVE_MS });
  });

  test("B16: turned, undone and lifted on the page; a preview says what it would do", async () => {
    await desk.open("/pools");
    await part().getByText("Off: pools and limits alone decide").waitFor();
    await part().getByRole("button", { name: "Turn the dial" }).click();
    const send = dialog().getByRole("button", { name: "Turn the dial" });
    await dialog().getByText("Set a bound to see what it would do now.").waitFor();
    await dialog().getByLabel("Tries at once").fill("a few");
    await dialog().getByText("A whole number from 0").waitFor();
    await dialog().getByLabel("Tries at once").fill("2");
    await dialog().getByText("Now it would hold 9 waiting tries back; 11 under way go on.").waitFor();
    await expect.poll(() => send.isDisabled()).toBe(true);
    await dialog().getByLabel("Reason").fill("warehouse is slow");
    await dialog().getByLabel("Tries under way that it would not let begin").check();
    await dialog().getByText("4 of 11 under way would give their slots back").waitFor();
    await keepPicture(desk.page, "dial-turn");
    await expectClean(desk.page);
    await send.click();
    await dialog().waitFor({ state: "detached" });
    await banner().getByText("at most 2 tries at once").waitFor();
    expect(desk.world.dial?.turns[0]).toMatchObject({ tries: 2, reason: "warehouse is slow" });
    await keepPicture(desk.page, "dial-in-force");
    await expectClean(desk.page);

    await part().getByRole("button", { name: "Undo" }).click();
    await banner().waitFor({ state: "detached" });
    turn(desk.world, { belowClass: "critical", reason: "month end" });
    await banner().getByText("nothing below class critical").waitFor();
    await part().getByRole("button", { name: "Lift it" }).click();
    await dialog().getByLabel("Reason").fill("month is over");
    await dialog().getByRole("button", { name: "Lift it" }).click();
    await banner().waitFor({ state: "detached" });
    await part().getByText("Last turns").click();
    await part().getByText("month is over").waitFor();
  });
});
