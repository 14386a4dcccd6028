import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { endWaits } from "../../db/waits.ts";
import { waiting, WaitsRig } from "./waits-rig.ts";

let rig: WaitsRig;
beforeAll(async () => {
  rig = await WaitsRig.make(4);
});
afterAll(async () => await rig.database.drop());

/** Temporal takes 2 MB in a signal. */
const MOST_BYTES = 2 * 1024 * 1024;

describe("A6: a run is told of the ends of its waits", () => {
  it("regression: hundreds that fail at once with long stacks are told in several signals", async () => {
    await rig.newRun([waiting("many")]);
    const indexes = Array.from({ length: 300 }, (_, i) => i);
    for (const map_index of indexes) await rig.begin("many", { map_index, kind: "sensor" });
    const error = { code: "Error", message: "no", stack: "at somewhere\n".repeat(1_200), retryable: true };
    const key = { run: rig.run, task_id: "many", try: 1, wait: 1, ended_by: null };
    await endWaits(
      rig.database.pool,
      indexes.map((map_index) => ({ ...key, map_index, ended_as: "failed", detail: { error } })),
    );
    const beginnings: number[] = [];
    rig.onSignal = () => void beginnings.push(rig.told.length);
    await rig.tellTheRest();
    expect(rig.told.map(({ mapIndex }) => mapIndex).sort((a, b) => a - b)).toEqual(indexes);
    const sizes = beginnings.map((from, i) => JSON.stringify(rig.told.slice(from, beginnings[i + 1])).length);
    expect(sizes.length).toBeGreaterThan(2);
    expect(Math.max(...sizes)).toBeLessThan(MOST_BYTES);
  });
});
