/**
 * The page in Chromium over a made-up API: how soon the first grid stands, whether 5,000 runs of 100 tasks scroll
 * without a long task, how soon a changed cell is seen. `npm run bench:page`; it ends by itself.
 */
import type { Page } from "playwright-core";
import { addLargeDag } from "../test/web/fixtures/large.ts";
import { makeInstallation } from "../test/web/fixtures/installation.ts";
import { serveFixtures } from "../test/web/fixtures/server.ts";
import { setCell } from "../test/web/fixtures/world.ts";
import { openBrowser } from "../test/web/browser.ts";
import { buildIfStale } from "../web/build-if-stale.ts";
import { median } from "./statistics.ts";

const RUNS = 5000;
const TASKS = 100;
const REPEATS = 5;

/** Notes when the first cell stands, from before the page's own code runs. */
const WATCH = `
  window.firstCell = null;
  const look = () => {
    if (document.querySelector("[role=gridcell]") !== null) window.firstCell = performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
`;

const report = (name: string, value: string): void => console.log(`${name.padEnd(46)} ${value}`);

await buildIfStale(console.log);
const world = makeInstallation();
addLargeDag(world, "large", TASKS, RUNS);
const server = await serveFixtures(world);
const browser = await openBrowser();
try {
  await firstGrid();
  await scrolling();
  await change();
} finally {
  await browser.close();
  await server.close();
}

async function open(path: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  await page.addInitScript(WATCH);
  await page.goto(server.url + path);
  await page.getByRole("gridcell").first().waitFor();
  return page;
}

/** Of an empty cache each time: 92 runs of 100 tasks. */
async function firstGrid(): Promise<void> {
  const times: number[] = [];
  let bytes = 0;
  for (let turn = 0; turn < REPEATS; turn++) {
    const page = await open("/dags/large?runs=92");
    times.push(await page.evaluate<number>("window.firstCell"));
    bytes = await page.evaluate<number>(
      `performance.getEntriesByType("resource").filter((one) => /\\.(js|css)$/.test(one.name))
        .reduce((sum, one) => sum + one.decodedBodySize, 0)`,
    );
    await page.context().close();
  }
  report("first grid, 92 × 100, median and worst", `${ms(median(times))}, ${ms(Math.max(...times))}`);
  report("scripts and styles of the first load", `${Math.round(bytes / 1024)} KiB`);
}

async function scrolling(): Promise<void> {
  const page = await open("/dags/large?runs=366");
  const columns = async (): Promise<number> =>
    Number(await page.getByRole("grid").getAttribute("aria-colcount")) - 1;
  await page.mouse.move(600, 500);
  await watchTasks(page, "reading 5,000 × 100 while scrolling", async () => {
    const startedAt = Date.now();
    while ((await columns()) < RUNS) {
      if (Date.now() - startedAt > 120_000)
        throw new Error(`only ${await columns()} of ${RUNS} runs were read`);
      await page.mouse.wheel(-4000, 0);
      await page.waitForTimeout(30);
    }
  });
  await watchTasks(page, "scrolling both ways by the wheel", async () => {
    for (let turn = 0; turn < 60; turn++) {
      await page.mouse.wheel(turn < 30 ? 900 : -900, turn % 2 === 0 ? 400 : -350);
      await page.waitForTimeout(40);
    }
    await page.waitForTimeout(500);
  });
  // As by the scrollbar: nothing that was in sight stays.
  await watchTasks(page, "jumping by the scrollbar", async () => {
    for (let turn = 0; turn < 20; turn++) {
      await page.evaluate(`(() => {
        const grid = document.querySelector("[role=grid]");
        grid.scrollTo(grid.scrollWidth * ${(turn * 7) % 20} / 20, grid.scrollHeight * ${(turn * 3) % 5} / 5);
      })()`);
      await page.waitForTimeout(300);
    }
  });
  await watchTasks(page, "folding and unfolding ten groups", async () => {
    for (let turn = 0; turn < 4; turn++) {
      await page.getByRole("button", { name: turn % 2 === 0 ? "Fold groups" : "Unfold groups" }).click();
      await page.waitForTimeout(300);
    }
  });
  await page.context().close();
}

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds by the clock, and of the thread's own CPU time. */
  readonly dur?: number;
  readonly tdur?: number;
  readonly args: { readonly name?: string };
}

/** The tasks of the page's main thread meanwhile. CPU time says the same on a machine that is busy with other things. */
async function watchTasks(page: Page, name: string, act: () => Promise<void>): Promise<void> {
  await browser.startTracing(page, { categories: ["devtools.timeline", "toplevel"] });
  await act();
  const trace = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] };
  const events = trace.traceEvents;
  const drawing = new Set(events.filter((one) => one.name === "UpdateLayoutTree").map((one) => one.pid));
  const main = events.find((one) => one.args.name === "CrRendererMain" && drawing.has(one.pid));
  const tasks = events.filter(
    (one) => one.pid === main?.pid && one.tid === main.tid && one.ph === "X" && one.name.endsWith("RunTask"),
  );
  const cpu = tasks.map((one) => (one.tdur ?? 0) / 1000);
  const clock = tasks.map((one) => (one.dur ?? 0) / 1000);
  const long = clock.filter((one) => one > 100).length;
  report(
    name,
    `longest task ${ms(Math.max(...cpu))} of CPU, ${ms(Math.max(...clock))} by the clock; ${long} above 100 ms`,
  );
}

/** From the change in the made-up API, which looks for changes each 100 ms, to the changed cell in the document. */
async function change(): Promise<void> {
  const page = await open("/dags/sales_daily");
  const run = world.dags.get("sales_daily")!.runs.at(-1)!;
  const times: number[] = [];
  for (let turn = 0; turn < 2 * REPEATS; turn++) {
    await page.waitForTimeout(300);
    const state = turn % 2 === 0 ? "running" : "success";
    const changedAt = Date.now();
    setCell(run, { taskId: "load", state, startedAt: changedAt, tookMs: state === "success" ? 10 : null });
    await page
      .getByRole("gridcell", { name: new RegExp(`^load, .*: ${state}$`) })
      .last()
      .waitFor();
    times.push(Date.now() - changedAt);
  }
  report("a changed cell in sight, median and worst", `${ms(median(times))}, ${ms(Math.max(...times))}`);
  await page.context().close();
}

function ms(value: number): string {
  return `${Math.round(value)} ms`;
}
