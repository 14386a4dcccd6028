import { describe, expect, test } from "vitest";
import type { TenantList } from "../../api/contracts-tenants.ts";
import { whyNoBrowser } from "./browser.ts";
import { expectClean, keepPicture } from "./look.ts";
import { useDesk } from "./support.ts";

const tenant = (name: string, slots: number, used: number): TenantList["tenants"][number] => ({
  name,
  cohort: "all",
  slots,
  most: null,
  used,
  borrowed: Math.max(0, used - slots),
  lent: 0,
  waiting: used > slots ? 5 : 0,
  waitingSlots: used > slots ? 5 : 0,
  preempted: 0,
  recentUse: 0,
  share: used / slots,
  coreHoursToday: 2.25,
  coreHoursQuota: used > slots ? 8 : null,
  exhaustedUntil: null,
});

describe.skipIf(whyNoBrowser() !== null)("pools and tenants on the page", () => {
  const desk = useDesk();
  const dialog = () => desk.page.getByRole("dialog");

  test("B11: how long a pool makes wait, what comes against what is granted, by class; its floor is set", async () => {
    await desk.open("/pools?pool=warehouse");
    await desk.page.getByText("for 2 min 05 s", { exact: true }).first().waitFor();
    await desk.page
      .getByText(
        "The longest wait is 2 min 05 s, 19 of 20 are below 1 min 30 s. 3.2 come and 1.5 are granted",
      )
      .waitFor();
    await desk.page.getByRole("row", { name: "standard 3 9 3 1.3", exact: true }).waitFor();
    await desk.page.getByRole("button", { name: "Edit warehouse" }).click();
    await dialog().getByLabel("Scheduled floor").fill("5");
    await dialog().getByText("A whole number, no more than the pool has").waitFor();
    await dialog().getByLabel("Scheduled floor").fill("3");
    await dialog().getByRole("button", { name: "Save" }).click();
    await dialog().waitFor({ state: "detached" });
    await desk.page.getByText("3 slots are kept from runs by hand").waitFor();
    expect(desk.world.pools.find(({ name }) => name === "warehouse")).toMatchObject({ scheduledFloor: 3 });
  });

  test("B12: who lends to whom; no word of it where no limits are applied", async () => {
    await desk.open("/pools");
    await desk.page.getByRole("button", { name: "Edit warehouse" }).waitFor();
    expect(await desk.page.getByRole("heading", { name: "Tenants" }).count()).toBe(0);
    desk.world.tenants = {
      tenants: [tenant("A", 20, 0), tenant("B", 15, 5), tenant("C", 10, 20)],
      loans: [{ from: "A", to: "C", cohort: "all", slots: 10 }],
    };
    await desk.open("/pools");
    const row = (name: string) => desk.page.getByRole("row", { name: new RegExp(`^${name} in all`) });
    await row("A").getByText("lends 10 to C").waitFor();
    await row("C").getByText("borrows 10 of A").waitFor();
    await row("C").getByText("200 %").waitFor();
    await row("C").getByText("2.3 of 8").waitFor();
    await keepPicture(desk.page, "tenants");
    await expectClean(desk.page);
  });
});
