import { describe, expect, test } from "vitest";
import type { MappedCell } from "../../api/contracts.ts";
import { TASK_STATES } from "../../core/states.ts";
import { whyNoBrowser } from "./browser.ts";
import { useDesk } from "./support.ts";

const CITIES = ["berlin", "paris", "oslo", "rome", "bonn"];

describe.skipIf(whyNoBrowser() !== null)("labels of instances", () => {
  const desk = useDesk();
  const details = () => desk.page.getByRole("complementary", { name: "Details" });

  /** The failed run of five instances, each with its label; its id. */
  function labelled(): string {
    const run = desk.world.dags.get("regions")!.runs[0]!;
    for (const [index, mapLabel] of CITIES.entries()) {
      const task = run.tasks.get(`load_region ${index}`)!;
      run.tasks.set(`load_region ${index}`, { ...task, cell: { ...task.cell, mapLabel } });
    }
    return run.detail.runId;
  }

  test("A7: title, picker and list of a mapped task name instances by label and index", async () => {
    await desk.open(`/dags/regions?run=${labelled()}&task=load_region`);
    await details().getByRole("heading", { name: "load_region[oslo] #2" }).waitFor();
    await details().getByText("List of them").click();
    const list = details().getByRole("list", { name: "List of instances" });
    await expect
      .poll(() => list.getByRole("link").allInnerTexts())
      .toEqual(CITIES.map((city, index) => `load_region[${city}] #${index}`));
    await details()
      .getByRole("region", { name: "Instances" })
      .getByRole("combobox")
      .selectOption({ label: "3 rome: success" });
    await details().getByRole("heading", { name: "load_region[rome] #3" }).waitFor();
    await desk.expectQuery({ map: "3" });
  });

  test("A7: what failed in a run is named so; without labels by the index", async () => {
    const runId = desk.world.dags.get("regions")!.runs[0]!.detail.runId;
    await desk.open(`/dags/regions?run=${runId}`);
    await details().getByRole("link", { name: "load_region[2]" }).first().waitFor();
    labelled();
    await desk.page.reload();
    await details().getByRole("link", { name: "load_region[oslo] #2" }).first().waitFor();
  });

  test("A7: a cell of the grid names three of the instances that want eyes", async () => {
    const runId = labelled();
    const failed: MappedCell = [1, TASK_STATES.indexOf("failed"), 1, 1, 2, 5, ...CITIES.slice(0, 4)];
    await desk.page.route("**/api/v1/dags/regions/grid*", async (route) => {
      const answer = await route.fetch();
      const grid = (await answer.json()) as { cells: unknown[][]; mapped: unknown[][] };
      grid.cells = [[]];
      grid.mapped = [[failed]];
      await route.fulfill({ response: answer, json: grid });
    });
    await desk.open(`/dags/regions?run=${runId}`);
    await desk.page.getByRole("gridcell", { name: /^load_region, / }).hover();
    await desk.page.getByText("berlin, paris, oslo …", { exact: true }).waitFor();
  });
});
