import { describe, expect, test } from "vitest";
import { whyNoBrowser } from "./browser.ts";
import { setCell } from "./fixtures/world.ts";
import { expectClean, keepPicture } from "./look.ts";
import { useDesk } from "./support.ts";

const RUN = "2015-12-09T00-00-00Z";

describe.skipIf(whyNoBrowser() !== null)("commands to runs", () => {
  const desk = useDesk();
  const dialog = () => desk.page.getByRole("dialog");
  const details = () => desk.page.getByRole("complementary", { name: "Details" });
  const listed = () => dialog().getByRole("list", { name: "Tasks it is about" }).getByRole("listitem");
  const stateOf = (taskId: string) =>
    [
      ...desk.world.dags
        .get("seattle_weather")!
        .runs.find((run) => run.detail.runId === RUN)!
        .tasks.values(),
    ].find(({ cell }) => cell.taskId === taskId)?.cell.state;

  test("B9: a task is run again with what follows it; the preview follows the choice", async () => {
    await desk.open(`/dags/seattle_weather?run=${RUN}`);
    const first = desk.world.dags.get("seattle_weather")!.detail.graph!.tasks[0]!.id;
    await details().getByRole("link", { name: "Open at full width" }).click();
    await details().getByRole("link", { name: first, exact: true }).click();
    await details().getByRole("button", { name: "Run again" }).click();
    await dialog()
      .getByRole("heading", { name: `Run again: ${first}` })
      .waitFor();
    await listed().nth(1).waitFor();
    const withDownstream = await listed().count();
    await keepPicture(desk.page, "clear");
    await expectClean(desk.page);
    await dialog().getByLabel("what waits for it, too").uncheck();
    await expect.poll(() => listed().count()).toBe(1);
    expect(withDownstream).toBeGreaterThan(1);
    expect(stateOf(first)).toBe("success");
    await dialog().getByRole("button", { name: "Run again" }).last().click();
    await dialog().waitFor({ state: "detached" });
    await expect.poll(() => stateOf(first)).toBe("queued");
    await details().getByText("queued").first().waitFor();
  });

  test("B2 B9: a run of an older version is run again with its own, or with the one in force", async () => {
    const { runs, detail } = desk.world.dags.get("seattle_weather")!;
    const run = runs.find((one) => one.detail.runId === RUN)!;
    const [first, last] = [detail.graph!.tasks[0]!.id, detail.graph!.tasks.at(-1)!.id];
    await desk.open(`/dags/seattle_weather?run=${RUN}`);
    await details().getByRole("button", { name: "Run again" }).click();
    await listed().or(dialog().getByText("0 tasks")).first().waitFor();
    expect(await dialog().getByRole("group", { name: "Version to run it with" }).count()).toBe(0);

    run.detail = { ...run.detail, version: 2 };
    run.tasks.delete(`${last} -1`);
    setCell(run, { taskId: "old_report", state: "success", startedAt: Date.UTC(2015, 11, 10), tookMs: 900 });
    await desk.open(`/dags/seattle_weather?run=${RUN}&task=${first}`);
    await details().getByRole("button", { name: "Run again" }).click();
    const own = dialog().getByRole("button", { name: "Version 2, its own" });
    await expect.poll(() => own.getAttribute("aria-pressed")).toBe("true");
    await dialog().getByLabel("what waits for it, too").uncheck();
    await expect.poll(() => listed().count()).toBe(1);
    await dialog().getByRole("button", { name: "Version 3, in force" }).click();
    await listed().filter({ hasText: last }).getByText("new").waitFor();
    await listed().filter({ hasText: "old_report" }).getByText("removed").waitFor();
    await dialog().getByText("2 tasks; 1 is not in that version").waitFor();
    await keepPicture(desk.page, "clear-latest");
    await expectClean(desk.page);
    await dialog().getByRole("button", { name: "Mark failed" }).click();
    expect(await own.count()).toBe(0);
    await dialog().getByRole("button", { name: "Run again" }).first().click();
    await dialog().getByRole("button", { name: "Run again" }).last().click();
    await dialog().waitFor({ state: "detached" });
    await expect
      .poll(() => [stateOf(first), stateOf(last), stateOf("old_report")])
      .toEqual(["queued", "queued", "removed"]);
    expect(run.detail.version).toBe(3);
  });

  test("B9: a mark says what a task counts as; nothing to do cannot be sent", async () => {
    await desk.open(`/dags/seattle_weather?run=${RUN}`);
    await details().getByRole("button", { name: "Mark" }).click();
    await dialog().getByText("0 tasks").waitFor();
    const mark = dialog().getByRole("button", { name: "Mark success" }).last();
    await expect.poll(() => mark.isDisabled()).toBe(true);
    await dialog().getByRole("button", { name: "Mark failed" }).first().click();
    await dialog().getByLabel("only what failed or could not run").uncheck();
    await listed().first().waitFor();
    await dialog().getByRole("button", { name: "Mark failed" }).last().click();
    await dialog().waitFor({ state: "detached" });
    const first = desk.world.dags.get("seattle_weather")!.detail.graph!.tasks[0]!.id;
    await expect.poll(() => stateOf(first)).toBe("failed");
  });

  test("B9: a run under way is ended with a reason; one that is over cannot be", async () => {
    await desk.open(`/dags/seattle_weather?run=${RUN}`);
    await details().getByRole("button", { name: "Run again" }).waitFor();
    expect(await details().getByRole("button", { name: "End" }).count()).toBe(0);
    const live = desk.world.dags.get("sales_daily")!.runs.at(-1)!;
    await desk.open(`/dags/sales_daily?run=${live.detail.runId}`);
    await details().getByRole("button", { name: "End" }).click();
    await dialog().getByLabel("Reason").fill("the source is wrong");
    await dialog().getByRole("button", { name: "failed" }).click();
    await expectClean(desk.page);
    await dialog().getByRole("button", { name: "End the run" }).click();
    await dialog().waitFor({ state: "detached" });
    expect(live.detail).toMatchObject({ state: "failed", reason: "the source is wrong" });
    await details().getByText("the source is wrong").waitFor();
  });

  test("B11: a run under way is moved before others by its priority; one that is over cannot be", async () => {
    await desk.open(`/dags/seattle_weather?run=${RUN}`);
    await details().getByRole("button", { name: "Run again" }).waitFor();
    expect(await details().getByRole("button", { name: "Priority" }).count()).toBe(0);
    const found = desk.world.dags.get("seattle_weather")!.runs.find((run) => run.detail.runId === RUN)!;
    found.detail = { ...found.detail, state: "queued", endedAt: null };
    await details().getByRole("button", { name: "Priority" }).click();
    await dialog().getByLabel("Priority").fill("soon");
    await dialog().getByText("A whole number from -1,000,000 to 1,000,000").waitFor();
    await dialog().getByLabel("Priority").fill("100");
    await expectClean(desk.page);
    await dialog().getByRole("button", { name: "Move the run" }).click();
    await dialog().waitFor({ state: "detached" });
    await details().getByText("+100 by hand").waitFor();
  });
});
