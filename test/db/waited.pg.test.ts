import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { advance } from "../../db/pools/advance.ts";
import { admissionPass } from "../../db/pools/pass.ts";
import { WaitsRig } from "../client/waits-rig.ts";
import { serialTask } from "../support/serial.ts";

let rig: WaitsRig;
beforeAll(async () => {
  rig = await WaitsRig.make(2);
});
afterAll(async () => await rig.database.drop());

describe("F16: why tries waited", () => {
  it("F16: it is kept with its span, of what gets its slot and of what waits no more", async () => {
    const { pool } = rig.database;
    const ids = ["first", "second", "third"];
    await rig.newRun(ids.map((id) => serialTask(id)));
    await pool.query("insert into app.account (key, slots) values ('pool:spans', 1)");
    const request = { run: rig.run, map_index: -1, try: 1, account: "pool:spans", slots: 1, priority: 1 };
    await advance(
      pool,
      [rig.run],
      [],
      ids.map((task_id) => ({ ...request, task_id })),
    );
    await admissionPass(pool);
    await pool.query(
      "update app.lease set reason_since = reason_since - interval '5 seconds' where run = $1 and reason is not null",
      [rig.run],
    );
    await pool.query("delete from app.lease where run = $1 and task_id = 'first'", [rig.run]);
    await admissionPass(pool);
    await pool.query("delete from app.lease where run = $1", [rig.run]);
    const { rows } = await pool.query<{ task_id: string; reason: string; seconds: number }>(
      "select task_id, reason, extract(epoch from until - since)::float8 as seconds from app.waited where run = $1 order by task_id",
      [rig.run],
    );
    expect(rows.map((row) => row.task_id)).toEqual(["second", "third"]);
    for (const row of rows) {
      expect(row.reason).not.toBe("");
      expect(row.seconds).toBeGreaterThan(5);
      expect(row.seconds).toBeLessThan(10);
    }
  });
});
