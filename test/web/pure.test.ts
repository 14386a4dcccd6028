import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { WAIT_KINDS } from "../../core/why-deferred.ts";
import { RUN_STATES, RUN_TYPES } from "../../core/states.ts";
import { formatLine } from "../../platform/logs/format.ts";
import { parseLog } from "../../web/src/log/lines.ts";
import {
  DAG_FILTERS,
  DAG_SORTS,
  LOG_LEVELS,
  RUN_DATES,
  SPANS,
  VIEWS,
  formatRoute,
  parseRoute,
  type Route,
} from "../../web/src/routing/route.ts";
import { parseZone } from "../../web/src/routing/zone-choice.ts";
import { MOST_VIEWS, dropView, parseViews, saveView } from "../../web/src/shell/views.ts";
import {
  formatDuration,
  formatInstant,
  formatInterval,
  formatOffset,
  formatRelative,
  formatSetting,
  parseTyped,
  parseWall,
} from "../../web/src/time/format.ts";
import { parseConf } from "../../web/src/trigger/conf.ts";

const at = (iso: string): number => Date.parse(iso);

describe("URL", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 12 });
  const some = fc.option(
    text.filter((s) => s !== ""),
    { nil: null },
  );
  const day = fc.constantFrom(null, "2026-05-09", "1999-12-31");
  const names = fc.array(
    text.filter((s) => s !== ""),
    { maxLength: 3 },
  );
  const number = fc.option(fc.nat({ max: 999_999_999 }), { nil: null });
  const place = fc.oneof(
    fc.record({
      page: fc.constant("dags" as const),
      list: fc.record({
        search: text,
        filter: fc.constantFrom(...DAG_FILTERS),
        tags: names,
        owner: some,
        state: fc.option(fc.constantFrom(...RUN_STATES), { nil: null }),
        withError: fc.boolean(),
        sort: fc.constantFrom(...DAG_SORTS),
      }),
    }),
    fc.record({
      page: fc.constant("dag" as const),
      dagId: text.filter((s) => s !== "" && s !== "." && s !== ".."),
      view: fc.record({
        show: fc.constantFrom(...VIEWS),
        span: fc.constantFrom(...SPANS),
        before: some,
        runId: some,
        taskId: some,
        groupId: some,
        mapIndex: number,
        tryNumber: number,
        tasks: text,
        folded: names,
        find: text,
        level: fc.constantFrom(...LOG_LEVELS),
        line: number,
        version: number,
        against: number,
        path: some,
      }),
    }),
    fc.record({
      page: fc.constant("runs" as const),
      list: fc.record({
        state: fc.option(fc.constantFrom(...RUN_STATES), { nil: null }),
        type: fc.option(fc.constantFrom(...RUN_TYPES), { nil: null }),
        search: text,
        by: fc.constantFrom(...RUN_DATES),
        from: day,
        until: day,
      }),
    }),
    fc.record({
      page: fc.constant("waits" as const),
      list: fc.record({
        search: text,
        dagId: some,
        kind: fc.option(fc.constantFrom(...WAIT_KINDS), { nil: null }),
      }),
    }),
    fc.constant({ page: "pools" as const }),
    fc.record({ page: fc.constant("files" as const), search: text, withError: fc.boolean() }),
    fc.record({ page: fc.constant("import-errors" as const), file: some }),
  );
  const route: fc.Arbitrary<Route> = fc.record({
    place,
    zone: fc.constantFrom(null, "utc", "dag", "America/New_York", "Asia/Kathmandu", "Etc/GMT+5"),
  });

  test("F9: every state of the page survives its URL", () => {
    fc.assert(
      fc.property(route, (one) => {
        const url = new URL(formatRoute(one), "http://localhost");
        expect(parseRoute(url.pathname, url.search)).toEqual(one);
      }),
    );
  });

  test("what is at its default is left out; nonsense falls back to it", () => {
    const plain = parseRoute("/dags/a", "?runs=17&try=-1&tz=mars");
    expect(formatRoute(plain)).toBe("/dags/a");
    expect(parseRoute("/", "").place.page).toBe("dags");
    expect(parseRoute("/dags/%E0%A4%A", "").place).toMatchObject({ page: "dag", dagId: "%E0%A4%A" });
  });
});

describe("the zone in the URL", () => {
  test.each([
    ["utc", "utc"],
    ["UTC", "utc"],
    ["dag", "dag"],
    ["America/New_York", "America/New_York"],
    ["Asia/Kolkata", "Asia/Kolkata"],
    // Another's own zone is none of mine; an offset does not know when clocks change.
    ["local", null],
    ["+02:00", null],
    ["Mars/Olympus", null],
    ["", null],
    [null, null],
  ])("F9: tz=%s is %s", (text, zone) => {
    expect(parseZone(text)).toBe(zone);
  });

  test("F9: a zone, and a file, are as readable in the URL as anywhere", () => {
    const route = parseRoute("/import-errors", "?file=team%2Fsales.ts&tz=America%2FNew_York");
    expect(formatRoute(route)).toBe("/import-errors?file=team/sales.ts&tz=America/New_York");
  });
});

describe("times", () => {
  const ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kathmandu",
    "Pacific/Apia",
    "Australia/Lord_Howe",
  ];

  test("what is shown can be typed: parse is the inverse of format in every zone, but for the hour shown twice", () => {
    const instant = fc
      .integer({ min: at("2000-01-01T00:00:00Z"), max: at("2040-01-01T00:00:00Z") })
      .map((ms) => ms - (ms % 1000));
    fc.assert(
      fc.property(instant, fc.constantFrom(...ZONES), (ms, zone) => {
        const shown = formatInstant(ms, zone);
        const read = parseWall(shown, zone);
        if (read.kind !== "instant") throw new Error(`${shown} in ${zone}: ${read.kind}`);
        expect(formatInstant(read.at, zone)).toBe(shown);
        expect(read.at === ms || (read.twice && read.at < ms)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    ["2026-05-09", "UTC", "2026-05-09T00:00:00.000Z"],
    ["2026-05-09 14:30", "Europe/Berlin", "2026-05-09T12:30:00.000Z"],
    [" 2026-05-09T14:30:05 ", "Asia/Kathmandu", "2026-05-09T08:45:05.000Z"],
    ["2026-05-09T14:30:00Z", "Europe/Berlin", "2026-05-09T14:30:00.000Z"],
    ["2026-05-09 14:30 UTC", "Europe/Berlin", "2026-05-09T14:30:00.000Z"],
    ["2026-05-09T14:30:00+02:00", "UTC", "2026-05-09T12:30:00.000Z"],
    ["2026-10-25 02:30", "Europe/Berlin", "2026-10-25T00:30:00.000Z"],
  ])("%s in %s is %s", (typed, zone, expected) => {
    const read = parseTyped(typed, zone);
    expect(read.kind === "instant" && new Date(read.at).toISOString()).toBe(expected);
  });

  test.each([
    ["2026-03-29 02:30", "Europe/Berlin", "gap"],
    ["2011-12-30 12:00", "Pacific/Apia", "gap"],
    ["2026-02-30", "UTC", "unreadable"],
    ["2026-05-09 24:10", "UTC", "unreadable"],
    ["tomorrow", "UTC", "unreadable"],
    ["2026-13-01T00:00:00Z", "UTC", "unreadable"],
    ["", "UTC", "unreadable"],
  ])("%s in %s is a %s", (typed, zone, kind) => {
    expect(parseTyped(typed, zone).kind).toBe(kind);
  });

  test("durations, distances, offsets and intervals in words", () => {
    expect([420, 12_340, 245_000, 7_800_000, 273_600_000, -5].map(formatDuration)).toEqual([
      "420 ms",
      "12.3 s",
      "4 min 05 s",
      "2 h 10 min",
      "3 d 4 h",
      "0 ms",
    ]);
    expect([5000, 60_000, 90_000, 3_600_000, 86_400_000, 1500].map(formatSetting)).toEqual([
      "5 s",
      "1 min",
      "1 min 30 s",
      "1 h",
      "1 d",
      "1.5 s",
    ]);
    const now = at("2026-05-09T12:00:00Z");
    expect(
      [now + 300_000, now - 3 * 3_600_000, now + 400, now - 86_400_000 * 70].map((one) =>
        formatRelative(one, now),
      ),
    ).toEqual(["in 5 min", "3 h ago", "now", "2 mo ago"]);
    expect(formatOffset(now, "Asia/Kathmandu")).toBe("+05:45");
    expect(formatOffset(at("1969-12-31T23:59:59.500Z"), "UTC")).toBe("UTC");
    expect(formatInterval(at("2026-05-09T00:00:00Z"), at("2026-05-10T00:00:00Z"), "UTC")).toBe(
      "2026-05-09 → 2026-05-10",
    );
    expect(formatInterval(at("2026-05-09T01:00:00Z"), at("2026-05-09T02:00:00Z"), "UTC")).toBe(
      "2026-05-09 01:00 → 02:00",
    );
    expect(formatInterval(at("2026-05-09T01:00:00Z"), at("2026-05-09T01:00:00Z"), "UTC")).toBe(
      "2026-05-09 01:00",
    );
  });
});

describe("log", () => {
  const level = fc.constantFrom("debug" as const, "info" as const, "warn" as const, "error" as const);
  const text = fc.string({ maxLength: 30 }).map((one) => one.replaceAll("\u001B", ""));
  const line = fc.record({
    at: fc.integer({ min: 0, max: 4e12 }),
    level,
    text: fc.oneof(
      text,
      fc.tuple(text, text).map((two) => two.join("\n")),
    ),
  });

  test("what is written is read back, several lines as one entry", () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), (lines) => {
        expect(parseLog(lines.map(formatLine).join(""))).toEqual(lines);
      }),
    );
  });

  test("text in no format is kept, as red as what it follows; colours of terminals go", () => {
    const lines = parseLog(
      "begins\n2026-05-09T00:00:01.000Z ERROR no\n\u001B[32mgreen\u001B[0m\n2026-05-09T00:00:01.000Z WARN+2 a\n    b\n",
    );
    expect(lines.map((one) => [one.level, one.text])).toEqual([
      ["info", "begins"],
      ["error", "no"],
      ["error", "green"],
      ["warn", "a\nb"],
    ]);
    expect(parseLog("")).toEqual([]);
  });
});

describe("conf", () => {
  test("an object, or what is wrong and on which line", () => {
    expect(parseConf("  ")).toEqual({ kind: "value", value: {} });
    expect(parseConf('{"a": [1]}')).toEqual({ kind: "value", value: { a: [1] } });
    expect(parseConf("[1]").kind).toBe("wrong");
    expect(parseConf("null").kind).toBe("wrong");
    expect(parseConf('{\n"a": 1,\n}')).toMatchObject({
      kind: "wrong",
      message: expect.stringMatching(/line 3/),
    });
  });
});

describe("F9: saved views", () => {
  const views = [
    { name: "a", url: "/dags?q=a" },
    { name: "b", url: "/runs" },
  ];

  test("F9: a name names one place; saving under it again replaces it where it stands", () => {
    expect(saveView(views, " c ", "/pools").map((view) => view.name)).toEqual(["a", "b", "c"]);
    expect(saveView(views, "a", "/pools")).toEqual([{ name: "a", url: "/pools" }, views[1]]);
    expect(saveView(views, "  ", "/pools")).toEqual(views);
    expect(dropView(views, "a")).toEqual([views[1]]);
    const many = Array.from({ length: MOST_VIEWS + 3 }, (_, at) => at).reduce(
      (kept, at) => saveView(kept, `view ${at}`, "/dags"),
      [] as ReturnType<typeof parseViews>,
    );
    expect([many.length, many[0]!.name]).toEqual([MOST_VIEWS, "view 3"]);
  });

  test("F9: what storage holds besides is passed over", () => {
    expect(parseViews(JSON.stringify(views))).toEqual(views);
    for (const text of [
      null,
      "",
      "{",
      "null",
      '{"a":1}',
      "[1,null,{}]",
      '[{"name":"x","url":"javascript:1"}]',
    ]) {
      expect(parseViews(text)).toEqual([]);
    }
    expect(parseViews('[{"name":"","url":"/"},{"name":"b","url":"/runs"}]')).toEqual([views[1]]);
  });
});
