import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Try } from "../../api/contracts.ts";
import type { Wait } from "../../api/contracts-waits.ts";
import { axisOf } from "../../web/src/gantt/axis.ts";
import {
  barsOfCell,
  barsOfTries,
  barsOfWaits,
  rowsOf,
  spanOf,
  spanOfCells,
  type TaskRow,
} from "../../web/src/gantt/rows.ts";
import { cell } from "./fixtures/cell.ts";
import { NESTED } from "./fixtures/nested.ts";

const at = (seconds: number): string => new Date(Date.UTC(2026, 4, 9, 10, 0, seconds)).toISOString();
const ms = (seconds: number): number => Date.parse(at(seconds));
describe("rows and bars of a run", () => {
  test("F10: groups stand where their first task is; folded ones hide what is in them", () => {
    const cells = [cell("g.b", "failed"), cell("e", "running"), cell("old", "success")];
    const rows = rowsOf(NESTED, cells, ["g.in"], "");
    expect(rows.map((row) => [row.kind, row.label, row.depth])).toEqual([
      ["task", "a", 0],
      ["group", "g", 0],
      ["task", "b", 1],
      ["group", "in", 1],
      ["task", "e", 0],
      ["task", "old", 0],
    ]);
    expect(rows[1]).toMatchObject({ state: "failed", folded: false });
    expect(rowsOf(NESTED, cells, [], "g.in").map((row) => row.label)).toEqual(["g", "in", "c", "d"]);
  });

  test("instances of a mapped task are rows of their own, by number", () => {
    const cells = [cell("a", "success", { mapIndex: 10 }), cell("a", "running", { mapIndex: 2 })];
    expect(
      rowsOf(NESTED, cells, ["g"], "")
        .slice(0, 2)
        .map((row) => row.label),
    ).toEqual(["a[2]", "a[10]"]);
  });

  test("A7: a labelled instance is a row by its label and index", () => {
    const cells = [
      cell("a", "success", { mapIndex: 0, mapLabel: "rome" }),
      cell("a", "running", { mapIndex: 1 }),
    ];
    expect(
      rowsOf(NESTED, cells, ["g"], "")
        .slice(0, 2)
        .map((row) => row.label),
    ).toEqual(["a[rome] #0", "a[1]"]);
  });

  test("a try waits, then runs; one under way has no end; one that never began has only its wait", () => {
    const done = cell("a", "success", { queuedAt: at(0), startedAt: at(2), endedAt: at(5) });
    expect(barsOfCell(done).map(({ part, from, to }) => [part, from, to])).toEqual([
      ["queued", ms(0), ms(2)],
      ["ran", ms(2), ms(5)],
    ]);
    const runs = cell("a", "running", { queuedAt: at(0), startedAt: at(2) });
    expect(barsOfCell(runs).at(-1)).toMatchObject({ part: "ran", to: null });
    expect(barsOfCell(cell("a", "queued", { queuedAt: at(1) }))).toMatchObject([
      { part: "queued", to: null },
    ]);
    expect(barsOfCell(cell("a", "upstream_failed"))).toEqual([]);
  });

  test("A6: a try that is deferred goes on until now, alone, after other tries and within a group", () => {
    const waits = cell("a", "deferred", { try: 2, startedAt: at(10) });
    expect(barsOfCell(waits)).toEqual([{ try: 2, part: "ran", state: "deferred", from: ms(10), to: null }]);
    const first = {
      try: 1,
      state: "failed",
      queuedAt: null,
      startedAt: at(1),
      endedAt: at(4),
      waited: [],
    } as unknown as Try;
    const second = { ...first, try: 2, state: "deferred", startedAt: at(10), endedAt: null } as Try;
    expect(barsOfTries([first, second], waits).map((bar) => [bar.try, bar.state, bar.to])).toEqual([
      [1, "failed", ms(4)],
      [2, "deferred", null],
    ]);
    expect(spanOfCells([waits], ms(50))).toEqual({ from: ms(10), to: ms(50) });
  });

  test("A6: a try that goes on after it was deferred has one bar, while it waits for a slot again, too", () => {
    const again = cell("a", "queued", { queuedAt: at(20), startedAt: at(10) });
    expect(barsOfCell(again)).toEqual([{ try: 1, part: "ran", state: "queued", from: ms(10), to: null }]);
  });

  test("A6: what a try waited for without a slot is a stretch upon its bar; what was ended ahead has none", () => {
    const wait = { taskId: "a", mapIndex: -1, try: 1, kind: "event", endedAs: "success", endedBy: "ada" };
    const waits = [
      { ...wait, since: at(4), endedAt: at(6) },
      { ...wait, since: at(7), endedAt: null, endedAs: null, endedBy: null },
      { ...wait, since: null, endedAt: at(6) },
      { ...wait, taskId: "b", since: at(1), endedAt: at(2) },
    ] as Wait[];
    const [row] = rowsOf(NESTED, [cell("a", "deferred", { startedAt: at(1) })], ["g"], "", waits);
    expect(barsOfWaits((row as TaskRow).waits)).toMatchObject([
      { part: "deferred", from: ms(4), to: ms(6), why: "for somebody, ended by ada" },
      { part: "deferred", from: ms(7), to: null, why: "for somebody" },
    ]);
  });

  test("earlier tries come before the cell's own, each with its state", () => {
    const own = cell("a", "success", { try: 2, queuedAt: at(9), startedAt: at(10), endedAt: at(12) });
    const first = {
      try: 1,
      state: "lost",
      queuedAt: at(0),
      startedAt: at(1),
      endedAt: at(4),
      waited: [{ reason: "pool p: all 4 slots are in use", since: at(0), until: at(1) }],
    } as unknown as Try;
    const second = {
      ...first,
      try: 2,
      state: "success",
      queuedAt: at(9),
      startedAt: at(10),
      endedAt: at(12),
      waited: [],
    } as Try;
    const bars = barsOfTries([first, second], own);
    expect(bars.map(({ why }) => why)).toEqual([
      "pool p: all 4 slots are in use",
      undefined,
      undefined,
      undefined,
    ]);
    expect(bars.map((bar) => [bar.try, bar.part, bar.state, bar.from])).toEqual([
      [1, "queued", "lost", ms(0)],
      [1, "ran", "lost", ms(1)],
      [2, "queued", "success", ms(9)],
      [2, "ran", "success", ms(10)],
    ]);
  });

  test("the span goes from the first request to the last end, and to now while the run is under way", () => {
    const cells = [cell("a", "success", { queuedAt: at(1), startedAt: at(2), endedAt: at(30) })];
    expect(spanOf({ queuedAt: at(0), endedAt: at(20), cells }, 0)).toEqual({ from: ms(0), to: ms(30) });
    expect(spanOf({ queuedAt: at(0), endedAt: null, cells }, ms(50))).toEqual({ from: ms(0), to: ms(50) });
    expect(spanOfCells([cell("a", "queued")], 0)).toBeNull();
    expect(spanOfCells([...cells, cell("b", "running", { startedAt: at(10) })], ms(50))).toEqual({
      from: ms(2),
      to: ms(50),
    });
  });
});

describe("the time axis", () => {
  const texts = (from: string, to: string, zone: string, most = 6): string[] =>
    axisOf(Date.parse(from), Date.parse(to), zone, most).map((tick) => tick.text);

  test.each([
    ["2026-05-09T10:00:03Z", "2026-05-09T10:00:23Z", "UTC", ["10:00:05", "10:00:10", "10:00:15", "10:00:20"]],
    [
      "2026-05-09T10:00:00Z",
      "2026-05-09T10:00:01Z",
      "UTC",
      ["10:00:00.000", "10:00:00.200", "10:00:00.400", "10:00:00.600", "10:00:00.800", "10:00:01.000"],
    ],
    [
      "2026-05-09T20:00:00Z",
      "2026-05-10T02:00:00Z",
      "Europe/Berlin",
      ["22:00", "23:00", "05-10 00:00", "01:00", "02:00", "03:00", "04:00"],
    ],
    ["2026-05-09T10:10:00Z", "2026-05-09T13:40:00Z", "Asia/Kolkata", ["16:00", "17:00", "18:00", "19:00"]],
  ])("%s to %s in %s", (from, to, zone, expected) => {
    expect(texts(from, to, zone)).toEqual(expected);
  });

  test("nights when the clocks change: each text is what the clocks show then, in order of time", () => {
    for (const day of ["2026-03-29", "2026-10-25"]) {
      const ticks = axisOf(
        Date.parse(`${day}T00:00:00Z`) - 3_600_000,
        Date.parse(`${day}T05:00:00Z`),
        "Europe/Berlin",
        9,
      );
      const shown = ticks.map(({ at: tick }) =>
        new Intl.DateTimeFormat("en-GB", {
          timeZone: "Europe/Berlin",
          hour: "2-digit",
          minute: "2-digit",
        }).format(tick),
      );
      expect(ticks.map((tick) => tick.text.slice(-5))).toEqual(shown);
      expect(ticks.map((tick) => tick.at)).toEqual(ticks.map((tick) => tick.at).toSorted((a, b) => a - b));
    }
  });

  test("at most as many ticks as there is room for, over any span", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 400 * 86_400_000 }),
        fc.integer({ min: 2, max: 15 }),
        (span, most) => {
          const from = Date.UTC(2026, 0, 3, 4, 5, 6);
          expect(axisOf(from, from + span, "America/New_York", most).length).toBeLessThanOrEqual(most + 1);
        },
      ),
    );
  });
});
