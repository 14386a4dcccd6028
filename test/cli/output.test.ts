import { describe, expect, it } from "vitest";
import { CommanderError } from "commander";
import { Ended, exitCodeOf, UsageError } from "../../cli/failure.ts";
import { graphLines } from "../../cli/graph-text.ts";
import { columnsOf, type Table } from "../../cli/output.ts";
import { dayOrInstant, duration, instant, jsonObject, limit, namedRun } from "../../cli/read.ts";
import { clean, padded, tableLines, textOf } from "../../cli/table.ts";
import { Conflict, DefinitionError, NotFound, Refused, Retryable, Terminal } from "../../core/errors.ts";
import { ApiError } from "../../remote/index.ts";

describe("F6: what commands print", () => {
  it("columns are aligned by the cells of a terminal, not by characters", () => {
    const row = (a: string, b: string) => [{ text: a }, { text: b }];
    expect(tableLines(["a", "b"], [row("日本", "1"), row("é💼", "2"), row("x", "3")])).toEqual([
      "a     b",
      "日本  1",
      "é💼   2",
      "x     3",
    ]);
    expect(padded("e\u0301", 3), "a letter and its accent are one cell").toBe("e\u0301  ");
  });

  it("nothing in a text moves the cursor, colours or ends a line", () => {
    expect(clean("a\nb\u001B[31mc\u0000\u202Ed\u2028")).toBe("a\\nb\\u001b[31mc\\u0000\\u202ed\\u2028");
    expect(textOf("2026-05-09T00:00:00.123Z")).toBe("2026-05-09T00:00:00Z");
    expect([textOf(null), textOf(""), textOf([]), textOf(["a", "b"]), textOf({ a: 1 })]).toEqual([
      "-",
      "-",
      "-",
      "a, b",
      '{"a":1}',
    ]);
  });

  it("--columns chooses; a misspelt one is named with what was meant", () => {
    const table: Table<{ a: string }> = {
      columns: { dagId: (row) => row.a, state: () => null },
      shown: ["dagId"],
      id: (row) => row.a,
    };
    expect(columnsOf(table, { output: "table" })).toEqual(["dagId"]);
    expect(columnsOf(table, { output: "table", columns: "state, dagId" })).toEqual(["state", "dagId"]);
    expect(() => columnsOf(table, { output: "table", columns: "dagid" })).toThrow('did you mean "dagId"?');
    expect(() => columnsOf(table, { output: "json", columns: "dagId" })).toThrow("jq");
  });

  it("a graph: each task once, behind what it waits for, in its group", () => {
    const task = (id: string, group: string | null = null) => ({
      id,
      group,
      label: "",
      triggerRule: "all_success",
    });
    const edge = (from: string, to: string, ...inputs: string[]) => ({ from, to, inputs });
    const graph = {
      tasks: [task("end"), task("g.b", "g"), task("g.h.c", "g.h"), task("a")],
      groups: [
        { id: "g", label: "Gate", parent: null, doc: "" },
        { id: "g.h", label: "", parent: "g", doc: "" },
      ],
      edges: [edge("a", "g.b", "rows"), edge("g.b", "g.h.c"), edge("g.h.c", "end")],
    };
    expect(graphLines(graph as unknown as Parameters<typeof graphLines>[0])).toEqual([
      "a",
      "[g: Gate]",
      "  g.b  ← a (rows)",
      "  [g.h]",
      "    g.h.c  ← g.b",
      "end  ← g.h.c",
    ]);
  });
});

describe("F6: what arguments mean", () => {
  it("a day or a time without an offset is in UTC, as everything is printed", () => {
    expect(instant("2026-05-09")).toBe("2026-05-09T00:00:00Z");
    expect(instant("2026-05-09 10:00")).toBe("2026-05-09T10:00:00Z");
    expect(instant("2026-05-09T02:00+02:00")).toBe("2026-05-09T00:00:00Z");
    expect(() => instant("tomorrow")).toThrow('expected "2015-12-09"');
  });

  it("a run by its id, its date, or latest", () => {
    expect(namedRun("2026-05-09T00-00-00Z")).toEqual({ runId: "2026-05-09T00-00-00Z" });
    expect(namedRun("2026-05-09")).toEqual({ day: "2026-05-09" });
    expect(namedRun("2026-02-30"), "no day").toEqual({ runId: "2026-02-30" });
    expect(["2026-05-09", "2026-05-09T10:00"].map(dayOrInstant)).toEqual([
      "2026-05-09",
      "2026-05-09T10:00:00Z",
    ]);
    expect(namedRun("2026-03-29T01:00:00+02:00")).toEqual({ runId: "2026-03-28T23-00-00Z" });
    expect([namedRun(undefined), namedRun("latest")]).toEqual([{ latest: true }, { latest: true }]);
    expect(namedRun("ü/ß"), "for the API to refuse").toEqual({ runId: "ü/ß" });
  });

  it("times, limits and JSON say what they expect", () => {
    expect([duration("90"), duration("90s"), duration("2h")]).toEqual([90_000, 90_000, 7_200_000]);
    expect(() => duration("soon")).toThrow("Expected seconds or");
    expect([limit("all"), limit("3")]).toEqual([Number.POSITIVE_INFINITY, 3]);
    expect(() => limit("0")).toThrow("Expected a whole number from 1");
    expect(jsonObject("--conf", '{"a":1}')).toEqual({ a: 1 });
    for (const text of ["[1]", "null", "{a", "@/no/such/file"])
      expect(() => jsonObject("--conf", text), text).toThrow(UsageError);
  });
});

describe("F6: exit codes say what to do next", () => {
  for (const [what, error, code] of [
    ["a run that failed", new Ended(1), 1],
    ["a bug of ours", new TypeError("x"), 1],
    ["a DAG file that does not import", new DefinitionError("import_error", "x"), 1],
    ["what no repeat can help", new Terminal("broken", "x"), 1],
    ["an unknown option", new CommanderError(1, "commander.unknownOption", "x"), 2],
    ["a bad argument", new UsageError("bad_option", "x"), 2],
    ["a misspelt setting", new Refused("unknown_setting", "x"), 2],
    ["no such thing", new NotFound("no_dag", "x"), 3],
    ["refused", new Refused("bad_id", "x"), 4],
    ["in conflict", new Conflict("run_exists", "x"), 4],
    ["params that do not fit", new ApiError(422, "definition", "bad_params", "x"), 4],
    ["over a rate", new ApiError(429, "limited", "rate_limited", "x"), 4],
    ["not allowed", new ApiError(403, "refused", "foreign_host", "x"), 4],
    ["nobody there", new ApiError(0, "retryable", "api_away", "x"), 5],
    ["another server there", new ApiError(404, "not_found", "not_the_api", "x"), 5],
    ["no product in the folder", new NotFound("no_api", "x"), 5],
    ["its database away", new Retryable("database_away", "x"), 5],
    ["the time to wait over", new ApiError(0, "retryable", "wait_timeout", "x"), 6],
    ["help that was asked for", new CommanderError(0, "commander.help", "x"), 0],
  ] as const)
    it(`${what}: ${code}`, () => expect(exitCodeOf(error)).toBe(code));
});
