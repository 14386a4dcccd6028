import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NEW_CELL, type RunCell, type TaskProgress } from "../../core/cells.ts";
import { pack, unpack } from "../../core/packed.ts";
import type { RunProgress } from "../../core/progress.ts";
import { TASK_STATES } from "../../core/states.ts";
import { Rig, task } from "./run-rig.ts";

const cell: fc.Arbitrary<RunCell> = fc.record(
  {
    state: fc.constantFrom(...TASK_STATES),
    try: fc.nat(2),
    retries: fc.nat(1),
    lost: fc.nat(1),
    afterStop: fc.constantFrom("clear", "success"),
    follow: fc.array(fc.nat(3), { maxLength: 2 }),
    held: fc.constant(true as const),
    told: fc.constant(true as const),
    waitBy: fc.integer({ min: 1, max: 3 }),
    waits: fc.nat(2),
    waitBegun: fc.constant(true as const),
    resume: fc.constant(true as const),
    resumeOf: fc.record({ try: fc.nat(1), wait: fc.nat(1) }),
  },
  { requiredKeys: ["state", "try", "retries", "lost"] },
);
const plain: fc.Arbitrary<TaskProgress> = cell.map((own) => ({
  own,
  instances: null,
  count: null,
  tally: null,
}));
const tally = { success: 1, failed: 0, upstreamFailed: 0, skipped: 0, active: 2, held: 0 };
const mapped: fc.Arbitrary<TaskProgress> = fc.record({
  own: cell,
  instances: fc.option(fc.array(cell, { maxLength: 8 })),
  count: fc.option(fc.nat(8)),
  tally: fc.option(fc.constant(tally)),
});
const progressOf = (tasks: readonly TaskProgress[]): RunProgress => ({
  seq: 7,
  state: "running",
  tasks,
  open: 3,
  ending: { as: "failed", reason: "by hand" },
  measured: { 0: { items: 3 }, 2: { not: "an object" } },
  reruns: 1,
  resting: false,
  answers: [["c1", { cells: 2 }]],
});
const progress = fc.array(fc.oneof(plain, mapped), { maxLength: 12 }).map(progressOf);

const MB = 2_000_000;
const bytes = (value: unknown): number => JSON.stringify(value).length;
/** The same for each number, and as mixed as a run in trouble. */
const STATES = ["success", "failed", "up_for_retry", "running", "queued", "skipped"] as const;
const mixed = (i: number): RunCell => ({
  state: STATES[(i * 7) % STATES.length]!,
  try: 1 + (i % 4),
  retries: i % 4,
  lost: i % 3,
});

describe("K74: the progress of a run, packed", () => {
  it("unpacked it is what it was, over JSON and whatever it holds", () => {
    fc.assert(
      fc.property(progress, (given) => {
        expect(unpack(pack(given))).toEqual(given);
        expect(unpack(JSON.parse(JSON.stringify(pack(given))) as ReturnType<typeof pack>)).toEqual(given);
      }),
    );
  });

  it("packing depends on what it holds, not on which objects hold it or on the order of their keys", () => {
    fc.assert(
      fc.property(progress, (given) => {
        const turned = progressOf(
          given.tasks.map((one) => ({
            ...one,
            own: Object.fromEntries(Object.entries(one.own).toReversed()),
          })) as never,
        );
        expect(bytes(pack(turned))).toBe(bytes(pack(given)));
      }),
    );
  });

  it("what was stored before anything was packed is taken as it is", () => {
    fc.assert(fc.property(progress, (given) => unpack(given) === given));
  });

  it("a run goes on from its unpacked progress as from its own", () => {
    const a = new Rig({ tasks: [task("a"), task("b", [0]), task("c", [1])] });
    a.run("a");
    const b = new Rig({ tasks: [task("a"), task("b", [0]), task("c", [1])] });
    b.progress = unpack(pack(a.progress));
    expect([b.run("b"), b.run("c"), b.progress]).toEqual([a.run("b"), a.run("c"), a.progress]);
  });

  it("K74: 5,000 tasks and 20,000 instances stay far below 2 MB, alike or each unlike its neighbours", () => {
    const plainTasks = Array.from({ length: 5_000 }, (_, i): TaskProgress => ({
      own: mixed(i),
      instances: null,
      count: null,
      tally: null,
    }));
    const instances = Array.from({ length: 20_000 }, (_, i) => mixed(i));
    const one: TaskProgress = { own: NEW_CELL, instances, count: 20_000, tally };
    expect(bytes(pack(progressOf(plainTasks)))).toBeLessThan(MB / 20);
    expect(bytes(pack(progressOf([one])))).toBeLessThan(MB / 10);
    const waiting = Array.from({ length: 20_000 }, (_, i): RunCell => ({
      ...NEW_CELL,
      state: "deferred",
      waits: 1,
      waitBy: 1_780_000_000_000 + i,
    }));
    expect(bytes(pack(progressOf([{ ...one, instances: waiting }])))).toBeLessThan(MB / 4);
    const manyMaps = Array.from({ length: 5_000 }, (): TaskProgress => ({
      own: NEW_CELL,
      instances: [mixed(0), mixed(1), mixed(2), mixed(3)],
      count: 4,
      tally,
    }));
    expect(bytes(pack(progressOf(manyMaps)))).toBeLessThan(MB / 2);
  });
});
