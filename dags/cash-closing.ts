/**
 * The tills of a shop are closed: not on holidays, in full on Mondays, and told to whoever must know. The folder that the
 * work needs goes whatever becomes of it.
 */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dag, fail } from "meridian";
import { z } from "zod";
import { madeUp } from "./shared/made-up.ts";

const TILLS = ["north", "south"];
const HOLIDAYS = ["01-01", "05-01", "10-03", "12-25", "12-26"];

const params = z.object({
  missing: z
    .int()
    .min(0)
    .max(10_000)
    .default(0)
    .meta({ title: "Missing", description: "Cents that lack in the till" }),
  broken: z.boolean().default(false).meta({ title: "Broken", description: "Lets the counting fail" }),
});

export const cashClosing = dag(
  "cash_closing",
  {
    schedule: "0 22 * * *",
    zone: "Europe/Berlin",
    startDate: "2026-01-01",
    params,
    description: "Counts the tills, in full on Mondays, and tells who must know",
    owner: "shop",
    tags: ["example", "branches", "teardown"],
  },
  ({ task, taskGroup, branch, switchOn, shortCircuit }) => {
    // What a schedule cannot say: with false, all that follows is skipped.
    const isOpen = shortCircuit("is_open", ({ ds }) => !HOLIDAYS.includes(ds.slice(5)));

    // One machine: with several workers this would be a folder of a bucket.
    const folder = task("make_folder", { setup: true, after: [isOpen] }, async ({ runId }) => {
      const path = join(tmpdir(), "meridian-cash", runId);
      await mkdir(path, { recursive: true });
      return path;
    });

    const quick = task("count_quick", { inputs: { folder } }, async ({ inputs, params, ds }) => {
      if (params.broken) fail("the count was broken off, as was asked for");
      await store(inputs.folder, "all", takings(ds, "all"));
    });
    const full = taskGroup("count_full", { label: "Till by till" }, () => {
      for (const till of TILLS) {
        task(till, { inputs: { folder } }, async ({ inputs, params, ds }) => {
          if (params.broken) fail("the count was broken off, as was asked for");
          await store(inputs.folder, till, takings(ds, till));
        });
      }
    });
    branch("how", { after: [isOpen] }, ({ logicalDate }) =>
      logicalDate.getUTCDay() === 1 ? full : quick,
    ).before(quick, full);

    // After whichever way was taken.
    const balance = task(
      "balance",
      { inputs: { folder }, after: [quick, full], triggerRule: "none_failed_min_one_success" },
      async ({ inputs, params }) => {
        const path = inputs.folder ?? fail("there is no folder to read from");
        const sums = await Promise.all([...TILLS, "all"].map(async (till) => await stored(path, till)));
        return { cents: sums.reduce((a, b) => a + b, 0) - params.missing, missing: params.missing };
      },
    );

    // However it went, if there is a folder: after a failure, and when the run is cancelled. It waits for all that use the
    // folder: balance alone may have ended, since it could not run, while a till is still counted.
    task(
      "drop_folder",
      { inputs: { folder }, teardown: [folder], after: [quick, full, balance] },
      async ({ inputs }) => {
        if (inputs.folder !== undefined) await rm(inputs.folder, { recursive: true, force: true });
      },
    );

    const announce = task(
      "announce",
      { inputs: { balance } },
      ({ inputs }) => `${inputs.balance.cents / 100} €`,
    );
    const ask = task(
      "ask_staff",
      { inputs: { balance } },
      ({ inputs }) => `${inputs.balance.missing} cents lack`,
    );
    const alarm = task("call_owner", { after: [balance] }, () => "called");
    switchOn(
      "tell",
      { inputs: { balance }, cases: { even: announce, little: ask, much: [ask, alarm] } },
      ({ inputs }) => {
        if (inputs.balance.missing === 0) return "even";
        return inputs.balance.missing < 500 ? "little" : "much";
      },
    );
  },
);

const takings = (day: string, till: string): number => Math.floor(madeUp(`${till} on ${day}`)() * 500_000);

const store = async (folder: string, till: string, cents: number): Promise<void> =>
  await writeFile(join(folder, till), String(cents));

/** 0 for a till that was not counted. */
const stored = async (folder: string, till: string): Promise<number> =>
  Number(await readFile(join(folder, till), "utf8").catch(() => "0"));
