/** Every state has one colour and one word, wherever it is shown. */
import { describe, expect, test } from "vitest";
import { TASK_DONE, TASK_STATES, TRY_STATES, type TaskState } from "../../core/states.ts";
import { TASK_LOOK, TRY_LOOK } from "../../web/src/states/tables.ts";
import { whyNoBrowser } from "./browser.ts";
import { addDag, addRun, setCell } from "./fixtures/world.ts";
import { expectClean, keepPicture } from "./look.ts";
import { useDesk } from "./support.ts";

const AT = Date.UTC(2026, 4, 9);
const RUN = "2026-05-09T00-00-00Z";
/** States in which no try has begun. */
const UNBEGUN: ReadonlySet<TaskState> = new Set(["none", "queued", "upstream_failed", "removed"]);

describe.skipIf(whyNoBrowser() !== null)("states", () => {
  const desk = useDesk();
  const details = () => desk.page.getByRole("complementary", { name: "Details" });
  /** A run with a task in each state, named by it. */
  const addStates = (): void => {
    const dag = addDag(desk.world, { id: "states", tasks: TASK_STATES.map((state) => [state] as const) });
    const startedAt = Date.now() - 60_000;
    const run = addRun(dag, { at: AT, lengthMs: 0, state: "running", startedAt, tookMs: null });
    for (const state of TASK_STATES) {
      setCell(run, {
        taskId: state,
        state,
        startedAt: UNBEGUN.has(state) ? null : startedAt,
        tookMs: TASK_DONE[state] || state === "up_for_retry" ? 5000 : null,
      });
    }
  };
  /** Of the first such thing, as the browser paints it. */
  const painted = async (selector: string, property: string): Promise<string> => {
    await desk.page.locator(selector).first().waitFor({ state: "attached" });
    return desk.page.evaluate<string>(
      `getComputedStyle(document.querySelector(${JSON.stringify(selector)})).${property}`,
    );
  };

  test("C1 A6: each state of a task has its colour and word in legend, grid, graph, Gantt and details", async () => {
    addStates();
    await desk.open(`/dags/states?run=${RUN}`);
    const legend = desk.page.locator(".legend .state-word");
    const colours = new Map<string, string>();
    for (const state of TASK_STATES) {
      const { word, tone } = TASK_LOOK[state];
      await desk.page.getByRole("gridcell", { name: new RegExp(`^${state}, .*: ${word}`) }).waitFor();
      await legend.filter({ hasText: new RegExp(`^${word}$`) }).waitFor();
      const colour = await painted(`.legend .mark.tone-${tone}`, "backgroundColor");
      colours.set(state, colour);
      // What is not asked for yet has no fill there.
      if (state === "none") continue;
      expect([state, await painted(`.marks .fill.tone-${tone}`, "fill")]).toEqual([state, colour]);
    }
    expect(new Set(colours.values()).size).toBe(TASK_STATES.length);
    await keepPicture(desk.page, "states-grid");
    await expectClean(desk.page);

    await desk.open(`/dags/states?show=graph&run=${RUN}`);
    const graph = desk.page.getByRole("region", { name: "Graph" });
    for (const state of TASK_STATES) {
      const { word, tone } = TASK_LOOK[state];
      await graph.getByRole("button", { name: `Task ${state} ${word}`, exact: true }).waitFor();
      if (state === "none") continue;
      const edge = await painted(`.task-box.tone-${tone}`, "borderLeftColor");
      expect([state, edge]).toEqual([state, colours.get(state)]);
    }
    await keepPicture(desk.page, "states-graph");
    await expectClean(desk.page);

    await desk.open(`/dags/states?show=gantt&run=${RUN}`);
    const gantt = desk.page.getByRole("region", { name: "Gantt" });
    for (const state of TASK_STATES) {
      const { word, tone } = TASK_LOOK[state];
      await gantt.getByRole("button", { name: new RegExp(`^${state}: ${word}`) }).waitFor();
      if (UNBEGUN.has(state)) continue;
      const bar = await painted(`.row-bars .bar.ran.tone-${tone}`, "backgroundColor");
      expect([state, bar]).toEqual([state, colours.get(state)]);
    }
    await gantt.getByRole("button", { name: /^deferred: deferred; .*is deferred for 1 min/ }).waitFor();
    await keepPicture(desk.page, "states-gantt");
    await expectClean(desk.page);

    for (const state of TASK_STATES) {
      await desk.open(`/dags/states?run=${RUN}&task=${state}`);
      await details().locator(".state-line").getByText(TASK_LOOK[state].word, { exact: true }).waitFor();
    }
  });

  test("A6: a deferred try says so, how long it is under way, and that its log goes on", async () => {
    addStates();
    await desk.open(`/dags/states?run=${RUN}&task=deferred`);
    await details().getByRole("tab", { name: "Try 1: deferred" }).waitFor();
    await details().getByRole("term").getByText("Under way for").waitFor();
    await details().getByText("following").waitFor();
    await desk.page.getByRole("gridcell", { name: /^deferred, / }).hover();
    await desk.page.locator(".grid-card").getByText("under way for").waitFor();
    await keepPicture(desk.page, "deferred");
    await expectClean(desk.page);
    await details().getByRole("button", { name: "Run again" }).click();
    await desk.page.getByRole("dialog").getByText("; 1 of them is under way and stopped").waitFor();
  });

  test("C1 A6: each state of a try has a mark and a word of its own", async () => {
    addStates();
    const run = desk.world.dags.get("states")!.runs[0]!;
    const { tries } = setCell(run, {
      taskId: "failed",
      state: "failed",
      try: TRY_STATES.length,
      startedAt: Date.now() - 60_000,
      tookMs: 400,
    });
    for (const [at, state] of TRY_STATES.entries()) tries[at] = { ...tries[at]!, state, error: null };
    await desk.open(`/dags/states?run=${RUN}&task=failed`);
    for (const [at, state] of TRY_STATES.entries())
      await details()
        .getByRole("tab", { name: `Try ${at + 1}: ${TRY_LOOK[state].word}` })
        .waitFor();
    // The last of them, which is shown, is in sight.
    const tabs = (await details().getByRole("tablist", { name: "Tries" }).boundingBox())!;
    const last = details().getByRole("tab", { selected: true });
    await expect
      .poll(async () => {
        const { x, width } = (await last.boundingBox())!;
        return x + width <= tabs.x + tabs.width + 1;
      })
      .toBe(true);
    const drawn = await details()
      .getByRole("tab")
      .evaluateAll((all) => all.map((one) => one.querySelector("path")?.getAttribute("d")));
    expect(new Set(drawn).size).toBe(TRY_STATES.length);
    await keepPicture(desk.page, "try-states");
    await expectClean(desk.page);
  });
});
