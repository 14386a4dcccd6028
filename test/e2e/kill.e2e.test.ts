import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startProcess, type Started } from "../support/processes.ts";
import { sleep, startProduct, until, type Product } from "../support/product.ts";

/** The named size is 20 kills in a row; everyday the same edge is crossed twice. */
const KILLS = process.env["MERIDIAN_TEST_FULL"] === "1" ? 20 : 2;

let product: Product;
let worker: Started | undefined;
let marks: string;

beforeAll(async () => {
  product = await startProduct({ worker: false });
  marks = join(product.config.home, "marks");
  appendFileSync(marks, "");
});
afterAll(async () => {
  await worker?.kill();
  await product.stop();
});

const startWorker = async (): Promise<void> => {
  worker = await startProcess(["worker"], product.env, /worker for default is running/);
};

/** Each body leaves a line when it starts and when it ends: what really ran, whatever the records say. */
const body = (ms: number): string => `async ({ taskId, try: n, dagId, log }) => {
  log.info("body of try " + n);
  const { appendFileSync } = await import("node:fs");
  appendFileSync(${JSON.stringify("MARKS")}, ["start", dagId, taskId, n, process.pid].join(" ") + "\\n");
  await new Promise((done) => setTimeout(done, ${ms}));
  appendFileSync(${JSON.stringify("MARKS")}, ["end", dagId, taskId, n, process.pid].join(" ") + "\\n");
  return n;
}`;

function lines(dagId: string): { what: string; task: string; try: number }[] {
  return readFileSync(marks, "utf8")
    .split("\n")
    .map((line) => line.split(" "))
    .filter((words) => words[1] === dagId)
    .map((words) => ({ what: words[0]!, task: words[2]!, try: Number(words[3]) }));
}

/** Watches the account book for the highest use ever seen. */
function watch(account: string): { stop: () => Promise<number> } {
  let most = 0;
  let going = true;
  const loop = (async (): Promise<void> => {
    while (going) {
      const { rows } = await product.pool.query<{ used: number }>(
        "select coalesce(sum(slots), 0)::integer as used from app.lease where account = $1 and granted_at is not null",
        [account],
      );
      most = Math.max(most, rows[0]!.used);
      await sleep(10);
    }
  })();
  // A test that fails leaves the watch behind; its last query then meets a closed pool.
  loop.catch(() => undefined);
  return {
    stop: async () => {
      going = false;
      await loop;
      return most;
    },
  };
}

describe("B7 B11: kill -9 of the worker", () => {
  it(
    `B11 K47 K35: pool of 2, 20 tasks, ${KILLS} kills: never 3 in flight, all end, each once with effect, nothing leaks`,
    async () => {
      await product.pool.query("insert into app.account (key, slots) values ('pool:two', 2)");
      await product.save(
        "pool.ts",
        `dag("kill_pool", { schedule: null, defaults: { pool: "two" } }, () => {
        for (let i = 0; i < 20; i++) task("t" + i, ${body(400).replaceAll("MARKS", marks)});
      });`,
      );
      await startWorker();
      for (let kill = 0; kill < KILLS; kill++) {
        const use = watch("pool:two");
        const { runId } = await product.client.trigger({
          dagId: "kill_pool",
          logicalAt: null,
          conf: {},
          who: "test",
        });
        const before = lines("kill_pool").length;
        await until(
          async () => (lines("kill_pool").length > before + 4 + (kill % 7) ? true : null),
          30_000,
          "some bodies",
        );
        await worker!.kill();
        const killedAt = lines("kill_pool").length;
        await startWorker();
        const run = await product.ended("kill_pool", runId, 60_000);
        expect(run.state).toBe("success");
        expect(Object.values(run.cells)).toEqual(Array.from({ length: 20 }, () => "success"));
        expect(await use.stop()).toBe(2);

        // What really ran: at most two at a time, the killed ones ending with the kill.
        let inFlight = 0;
        lines("kill_pool")
          .slice(before)
          .forEach((line, i) => {
            if (before + i === killedAt) inFlight = 0;
            inFlight += line.what === "start" ? 1 : -1;
            expect(inFlight).toBeLessThanOrEqual(2);
          });
        const ends = lines("kill_pool")
          .slice(before)
          .filter((line) => line.what === "end")
          .map((line) => line.task);
        for (let i = 0; i < 20; i++)
          expect(run.tries.filter((one) => one.task_id === `t${i}` && one.state === "success")).toHaveLength(
            1,
          );
        // A body that had ended when the kill came may run again only if its end was not recorded yet; never more than the two in flight.
        expect(ends.length).toBeLessThanOrEqual(22);
        const lost = run.tries.filter((one) => one.state === "lost");
        expect(lost.length).toBeLessThanOrEqual(2);
        for (const one of lost)
          expect(
            run.tries.some(
              (other) =>
                other.task_id === one.task_id && other.try === one.try + 1 && other.state === "success",
            ),
          ).toBe(true);
        const { rows } = await product.pool.query("select * from app.lease where run = $1", [run.run]);
        expect(rows).toEqual([]);
      }
    },
    60_000 + KILLS * 90_000,
  );

  it("B7 K35: retries 1, SIGKILL in mid-task: try 1 is lost, try 2 runs on another worker, two logs", async () => {
    await product.save(
      "lost.ts",
      `dag("kill_lost", { schedule: null }, () => { task("only", { retries: 1 }, ${body(1500).replaceAll("MARKS", marks)}); });`,
    );
    if (worker === undefined || worker.child.exitCode !== null) await startWorker();
    const { runId } = await product.client.trigger({
      dagId: "kill_lost",
      logicalAt: null,
      conf: {},
      who: "test",
    });
    await until(async () => (lines("kill_lost").length > 0 ? true : null));
    // The log is written in batches of a tenth of a second.
    await sleep(400);
    await worker!.kill();
    await startWorker();
    const run = await product.ended("kill_lost", runId, 30_000);
    expect(run.tries.map((one) => [one.try, one.state])).toEqual([
      [1, "lost"],
      [2, "success"],
    ]);
    expect(run.tries[0]!.worker).not.toBe(run.tries[1]!.worker);
    for (const number of [1, 2]) {
      const file = join(product.config.home, "logs", "kill_lost", runId, `only.${number}.log`);
      expect(existsSync(file)).toBe(true);
    }
  });

  it("a worker that is asked to stop hands its tries back: requeued, no retry used up", async () => {
    await product.save(
      "drain.ts",
      `dag("kill_drain", { schedule: null }, () => { task("only", ${body(5000).replaceAll("MARKS", marks)}); });`,
    );
    const { runId } = await product.client.trigger({
      dagId: "kill_drain",
      logicalAt: null,
      conf: {},
      who: "test",
    });
    await until(async () => (lines("kill_drain").length > 0 ? true : null));
    await worker!.kill("SIGTERM");
    await startWorker();
    const run = await product.ended("kill_drain", runId, 30_000);
    expect(run.tries.map((one) => [one.try, one.state])).toEqual([
      [1, "requeued"],
      [2, "success"],
    ]);
    expect(run.state).toBe("success");
  });
});
