import type { Result } from "./results.ts";
import { titleOf, type Workload } from "./workloads.ts";

type Row = readonly string[];

const HEADER: Row = [
  "workload",
  "unit",
  "bare",
  "ours",
  "ours/bare",
  "n",
  "spread bare",
  "spread ours",
  "CPU ms/task",
  "server",
];

/** The results as lines to print: the table, then the other figures of each workload. */
export function resultLines(rows: readonly { workload: Workload; result: Result }[]): string[] {
  const table = [HEADER, ...rows.map(({ workload, result }) => toRow(workload, result))];
  const widths = HEADER.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const lines = table.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  lines.splice(1, 0, "-".repeat(lines[0]?.length ?? 0));
  return [
    ...lines,
    "",
    "other figures, in seconds",
    ...rows.flatMap(({ workload, result }) => detailLines(workload, result)),
  ];
}

function toRow(workload: Workload, result: Result): Row {
  const { bare, ours } = result.cpuMsPerTask;
  return [
    `${workload.id} ${titleOf(workload.shape)}`,
    result.unit,
    number(result.bare),
    number(result.ours),
    number(result.ratio),
    `${result.n}`,
    range(result.spread.bare),
    range(result.spread.ours),
    `${number(bare)} / ${number(ours)}`,
    result.server,
  ];
}

function detailLines(workload: Workload, { details }: Result): string[] {
  return (["bare", "ours"] as const).flatMap((name) => {
    const found = details[name];
    if (!found) return [];
    const figures = Object.entries(found).map(([key, value]) => `${key} ${number(value)}`);
    return [`  ${workload.id} ${name}: ${figures.join(", ")}`];
  });
}

function number(value: number | null): string {
  return value === null || Number.isNaN(value) ? "-" : `${Number(value.toPrecision(3))}`;
}

function range(spread: readonly [number, number] | null): string {
  return spread === null ? "-" : `${number(spread[0])}..${number(spread[1])}`;
}
