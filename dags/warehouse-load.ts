/**
 * Tables into a warehouse that bears few connections: a pool with slots, an order of importance, and a staging folder
 * that goes whatever happens. The pool `warehouse` is to be made first, with three slots; until then the loads wait.
 */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { dag } from "meridian";
import { z } from "zod";

/** A wide table needs two connections. Where all want a slot, orders go first. */
const TABLES = [
  { name: "orders", slots: 2, priority: 10, rows: 4_000 },
  { name: "customers", slots: 1, priority: 5, rows: 900 },
  { name: "events", slots: 2, priority: 1, rows: 12_000 },
  { name: "products", slots: 1, priority: 1, rows: 120 },
] as const;

const params = z.object({
  broken: z
    .enum(TABLES.map(({ name }) => name))
    .optional()
    .meta({ title: "Broken table", description: "Lets this load fail, to see what the clean-up does" }),
});

export const warehouseLoad = dag(
  "warehouse_load",
  {
    schedule: null,
    params,
    maxActiveRuns: 2,
    description: "Four tables through a pool, which is made first",
    owner: "warehouse",
    tags: ["example", "pools", "trigger rules"],
    defaults: { executionTimeout: "5m" },
    doc: "Make the pool first, here under *Pools* or by `npm run meridian -- pools set warehouse 3`.",
  },
  ({ task, taskGroup }) => {
    // One machine: with several workers this would be a folder of a bucket, or a schema of the warehouse.
    const staging = task("make_staging", async ({ runId }) => {
      const folder = join(tmpdir(), "meridian-warehouse", runId);
      await mkdir(folder, { recursive: true });
      return folder;
    });

    const load = taskGroup("load", { label: "Load", defaults: { pool: "warehouse" } }, () =>
      TABLES.map(({ name, slots, priority, rows }) =>
        task(
          name,
          { inputs: { staging }, poolSlots: slots, priorityWeight: priority },
          async ({ inputs, params, signal }) => {
            await pause(1_000, undefined, { signal }); // what a COPY would take
            if (params.broken === name) throw new Error(`the warehouse refuses ${name}, as was asked for`);
            await writeFile(join(inputs.staging, `${name}.json`), JSON.stringify({ name, rows }));
          },
        ),
      ),
    );

    const publish = task("publish", { inputs: { staging }, after: [load] }, async ({ inputs, log }) => {
      let sum = 0;
      for (const { name } of TABLES) {
        const { rows } = JSON.parse(await readFile(join(inputs.staging, `${name}.json`), "utf8")) as {
          rows: number;
        };
        log.info(`${name}: ${rows} rows`);
        sum += rows;
      }
      return sum;
    });

    // Whatever became of the loads. Its input is missing when there is no folder to remove.
    task(
      "clean_up",
      { inputs: { staging }, after: [load, publish], triggerRule: "all_done" },
      async ({ inputs }) => {
        if (inputs.staging !== undefined) await rm(inputs.staging, { recursive: true, force: true });
      },
    );

    // The leaves decide the run. With clean_up alone, a failed load would leave it green; this one cannot run then.
    task(
      "announce",
      { inputs: { rows: publish } },
      ({ inputs }) => `${inputs.rows} rows are in the warehouse`,
    );
  },
);
