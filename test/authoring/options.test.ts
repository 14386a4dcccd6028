import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { dag, switchOn, task, taskGroup } from "../../authoring/index.ts";
import {
  DAG_OPTIONS,
  GROUP_OPTIONS,
  SWITCH_OPTIONS,
  TASK_OPTIONS,
  type Option,
} from "../../authoring/options.ts";
import { DEFAULT_POOL } from "../../core/ids.ts";

const TABLES: Readonly<Record<string, Readonly<Record<string, Option<unknown>>>>> = {
  dag: DAG_OPTIONS,
  task: TASK_OPTIONS,
  group: GROUP_OPTIONS,
  switch: SWITCH_OPTIONS,
};
/** Options whose values have a unit. */
const UNITS: Readonly<Record<string, string>> = {
  retries: "tries",
  retryDelay: "milliseconds",
  maxRetryDelay: "milliseconds",
  executionTimeout: "milliseconds",
  poolSlots: "slots",
  cores: "cores",
  maxActiveRuns: "runs",
  runTimeout: "milliseconds",
  runRetries: "times",
  runRetryDelay: "milliseconds",
  maxFailedRuns: "runs",
  batch: "items",
  maxMapped: "instances",
  maxActivePerRun: "instances",
  maxActivePerDag: "tries",
  maxActiveTasks: "tries",
};

describe("A1: each option is documented", () => {
  const guide = readFileSync(new URL("../../docs/authors.md", import.meta.url), "utf8");
  for (const [kind, table] of Object.entries(TABLES)) {
    test(`of ${kind}: with its meaning, unit, default and the source of its rule`, () => {
      for (const [name, option] of Object.entries(table)) {
        expect(option.doc, name).toMatch(/^[A-Z].*\.$/);
        expect(option.rule, name).toMatch(/^(Airflow `\w+`|Meridian)/);
        const unit = UNITS[name];
        if (unit === undefined) expect(option.unit, name).toBeUndefined();
        else expect(option.unit, name).toContain(unit);
        expect(guide).toContain(
          `| ${JSON.stringify(option.fallback) ?? ""} | ${option.unit ?? ""} | ${option.doc} | ${option.rule} |`,
        );
      }
    });
  }

  test("a default that is said is the one that is used", () => {
    const nothing = (): void => {};
    const { graph } = dag("d", {}, () => void taskGroup("g", () => void task("t", nothing)));
    const said = Object.fromEntries(
      Object.entries(DAG_OPTIONS).map(([name, { fallback }]) => [name, fallback]),
    );
    const {
      schedule,
      defaults,
      maxActiveTasks,
      runTimeout,
      runRetries,
      runRetryDelay,
      maxFailedRuns,
      ...same
    } = said;
    expect([maxActiveTasks, runTimeout, runRetries, runRetryDelay, maxFailedRuns]).toEqual([
      null,
      null,
      0,
      300_000,
      null,
    ]);
    for (const name of ["runTimeoutMs", "runRetries", "runRetryDelayMs", "maxFailedRuns"])
      expect(graph).not.toHaveProperty(name);
    expect([schedule, defaults]).toEqual([null, {}]);
    expect(graph).toMatchObject({ ...same, timetable: { kind: "manual" } });
    expect(graph.tasks[0]).toMatchObject({
      id: "g.t",
      retryDelayMs: TASK_OPTIONS.retryDelay.fallback,
      pool: DEFAULT_POOL,
      label: TASK_OPTIONS.label.fallback,
      templates: TASK_OPTIONS.templates.fallback,
    });
    expect(graph.groups).toEqual([{ id: "g", parent: null, label: "", doc: "" }]);
  });

  test("texts for people arrive as they are, each at its own place", () => {
    const doc = "# Sales\n\n<b>not</b> ours to read";
    const { graph } = dag(
      "d",
      { description: "One line", doc, owner: "ana", tags: ["x"] },
      () =>
        void taskGroup(
          "g",
          { label: "Ladung", doc },
          () => void task("t", { label: "Zeilen ä", doc }, () => 1),
        ),
    );
    expect(graph).toMatchObject({ description: "One line", doc, owner: "ana", tags: ["x"] });
    expect(graph.groups[0]).toMatchObject({ label: "Ladung", doc });
    expect(graph.tasks[0]).toMatchObject({ label: "Zeilen ä", doc });
  });
});

describe("A1: a misspelt option is an error with what was meant", () => {
  const loose = { dag, task, taskGroup, switchOn } as unknown as Readonly<
    Record<string, (...args: unknown[]) => unknown>
  >;
  const uses: Readonly<Record<string, (options: unknown) => unknown>> = {
    dag: (options) => loose["dag"]!("d", options, () => {}),
    task: (options) => loose["dag"]!("d", {}, () => void loose["task"]!("t", options, () => {})),
    switch: (options) => loose["dag"]!("d", {}, () => void loose["switchOn"]!("t", options, () => {})),
    group: (options) =>
      loose["dag"]!("d", {}, () => void loose["taskGroup"]!("t", options, () => void task("a", () => {}))),
  };
  const names = Object.entries(TABLES).flatMap(([kind, table]) =>
    Object.keys(table).map((name) => [kind, name]),
  );
  test.each(names)("%s: %s with two letters swapped, with one too many", (kind, name) => {
    const swapped = name!.slice(0, -2) + name!.at(-1)! + name!.at(-2)!;
    for (const wrong of [swapped, `${name}s`].filter((word) => !Object.hasOwn(TABLES[kind!]!, word))) {
      expect(() => uses[kind!]!({ [wrong]: 1 })).toThrow(
        `option "${wrong}" does not exist; did you mean "${name}"?`,
      );
    }
  });
});
