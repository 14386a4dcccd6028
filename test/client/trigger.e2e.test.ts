import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { createClient } from "../../client/client.ts";
import { RunStarter } from "../../client/starter.ts";
import { connectClient } from "../../platform/temporal.ts";
import { useCalendar } from "../schedules/support.ts";
import { sleep, until } from "../support/product.ts";

describe("B3: triggers on the whole product", () => {
  const calendar = useCalendar();
  const states = async (dagId: string) => (await calendar.product.runs(dagId)).map((run) => run.state);

  it("a run triggered by hand on a paused DAG runs; the schedule stays silent", async () => {
    const [id] = await calendar.define({ paused: `schedule: "@daily", startDate: "2026-05-01"` });
    calendar.at("2026-05-04T12:00:00Z");
    await calendar.product.client.pause(id!, "test", null);
    const run = await calendar.trigger(id!, "2026-05-02T00:00:00Z");
    expect(run.state).toBe("running");
    expect(await calendar.settled(id!)).toEqual(["2026-05-02T00:00Z/2026-05-03T00:00Z 2026-05-02"]);
    expect(await calendar.tick("2026-05-05T00:00:00Z")).toBe(0);
  });

  it("a DAG without a free place: the run is queued, with the reason, and starts when there is one", async () => {
    const [id] = await calendar.define(
      { full: `schedule: null, maxActiveRuns: 1` },
      `async ({ ds, dataInterval }) => {
        await new Promise((done) => setTimeout(done, 1500));
        return { ds, from: dataInterval.start.toISOString(), to: dataInterval.end.toISOString() };
      }`,
    );
    const first = await calendar.trigger(id!, "2026-05-02T00:00:00Z");
    const second = await calendar.trigger(id!, "2026-05-01T00:00:00Z");
    expect([first.state, second.state]).toEqual(["running", "queued"]);
    const reason = await until(async () => {
      const { rows } = await calendar.product.pool.query(
        "select reason from app.lease where run = $1 and task_id = '' and granted_at is null",
        [second.run],
      );
      return rows[0]?.reason as string | undefined;
    });
    expect(reason).toContain("are at their limit: 1 of 1");
    await calendar.settled(id!);
    expect(await states(id!)).toEqual(["success", "success"]);
  });

  it("temporal-away: a caller cut off from Temporal is answered within seconds; a worker starts the run", async () => {
    const [id] = await calendar.define({ away: `schedule: null` });
    const wire = await cuttable(calendar.product.config.temporalAddress!);
    const temporal = await connectClient(calendar.product.config, wire.address);
    try {
      const { pool, config } = calendar.product;
      const errors: string[] = [];
      const onError = (_error: Error, what: string) => void errors.push(what);
      const { taskQueue, lostAfterMs } = config;
      const starter = new RunStarter({
        pool,
        temporal,
        taskQueue,
        lostAfterMs,
        turnOverEvents: 10_000,
        eager: false,
        onError,
      });
      const client = createClient({ pool, starter, clock: Date.now, onError });
      wire.cut();
      const askedAt = Date.now();
      const run = await client.trigger({
        dagId: id!,
        logicalAt: Date.parse("2026-05-01"),
        conf: {},
        who: "test",
      });
      const answeredMs = Date.now() - askedAt;
      expect(run.state).toBe("queued");
      expect(errors).toHaveLength(1);
      expect(answeredMs).toBeLessThan(15_000);
      await calendar.settled(id!);
      console.log(
        `Temporal away: answered after ${answeredMs} ms, run by a worker after ${Date.now() - askedAt} ms`,
      );
    } finally {
      await temporal.connection.close();
      wire.close();
    }
  });

  it("P13: many at once without a date are as many runs, each with its own moment", async () => {
    const [id] = await calendar.define({ many: `schedule: "* * * * *", startDate: "2026-01-01"` });
    calendar.at("2026-05-04T12:00:00Z");
    await calendar.product.client.pause(id!, "test", null);
    const runs = await Promise.all(
      Array.from({ length: 12 }, async () => {
        await sleep(Math.random() * 20);
        return await calendar.product.client.trigger({ dagId: id!, logicalAt: null, conf: {}, who: "test" });
      }),
    );
    expect(new Set(runs.map((run) => run.runId)).size).toBe(12);
    expect(await calendar.settled(id!)).toHaveLength(12);
    // The moment was a boundary: its interval is left to the schedule.
    expect(runs.map((run) => run.runId)).not.toContain("2026-05-04T12-00-00Z");
  });
});

/** A way to Temporal that can be cut: what is open breaks, and nothing new is answered. */
async function cuttable(address: string): Promise<{ address: string; cut(): void; close(): void }> {
  const [host, port] = address.split(":");
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((near) => {
    sockets.add(near);
    near.on("error", () => undefined);
    if (isCut) return;
    const far = connect(Number(port), host);
    sockets.add(far);
    far.on("error", () => near.destroy());
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const end = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut: () => {
      isCut = true;
      end();
    },
    close: () => {
      end();
      server.close();
    },
  };
}
