import { describe, expect, test } from "vitest";
import { whyNoBrowser } from "./browser.ts";
import { useDesk } from "./support.ts";

describe.skipIf(whyNoBrowser() !== null)("search boxes", () => {
  const desk = useDesk();
  const row = (id: string) =>
    desk.page.getByRole("row").filter({ has: desk.page.getByRole("link", { name: id, exact: true }) });
  /** Types and goes on within one task of the page: no timer can come between. Answers the query right after. */
  const typeAnd = (goOn: string) =>
    desk.page.evaluate<string>(`(() => {
      const box = document.querySelector("input[data-search]");
      box.focus();
      document.execCommand("insertText", false, "rates");
      ${goOn};
      return location.search;
    })()`);

  test.each([
    ["the focus goes elsewhere", "box.blur()"],
    ...["Enter", "Alt", "Control", "Meta", "F5"].map((key) => [
      `${key} is pressed`,
      `box.dispatchEvent(new KeyboardEvent("keydown", { key: "${key}", bubbles: true }))`,
    ]),
  ])("F9: the last letters are in the URL at once when %s", async (_when, goOn) => {
    await desk.open("/dags?tz=utc");
    await row("sales_daily").waitFor();
    expect(await typeAnd("")).toBe("?tz=utc");
    await desk.open("/dags?tz=utc");
    await row("sales_daily").waitFor();
    expect(await typeAnd(goOn)).toBe("?q=rates&tz=utc");
    await desk.page.reload();
    await row("exchange_rates").waitFor();
    expect(await desk.page.getByLabel("Search DAGs").inputValue()).toBe("rates");
  });

  test("F9: the last letters are still there when one comes back from another address", async () => {
    await desk.open("/dags?tz=utc");
    await row("sales_daily").waitFor();
    await typeAnd('location.href = "/nowhere"');
    await desk.page.getByText("There is no such page").waitFor();
    await desk.page.goBack();
    await expect.poll(desk.address).toBe("/dags?q=rates&tz=utc");
  });

  test("a search is heard however often the page is drawn anew, as it is while runs change", async () => {
    await desk.open("/dags?tz=utc");
    await row("sales_daily").waitFor();
    // Whoever reads the address is drawn anew.
    await desk.page.evaluate("void setInterval(() => dispatchEvent(new PopStateEvent('popstate')), 30)");
    await desk.page.getByLabel("Search DAGs").fill("rates");
    await expect.poll(desk.address).toBe("/dags?q=rates&tz=utc");
  });
});
