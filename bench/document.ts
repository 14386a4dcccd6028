import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { ResultsFile } from "./results.ts";
import { titleOf, workloads } from "./workloads.ts";

const DOCUMENT = fileURLToPath(new URL("../docs/benchmarks.md", import.meta.url));
const PART = /(<!-- results -->\n)[\s\S]*?(<!-- \/results -->)/;
const FIGURES = /(<!-- figures: (\w+) -->\n)[\s\S]*?(<!-- \/figures -->)/g;

/** Writes a results file into docs/benchmarks.md, as tables with machine, server and date. */
export function writeDocument(file: string): void {
  const results = JSON.parse(readFileSync(file, "utf8")) as ResultsFile;
  const text = readFileSync(DOCUMENT, "utf8");
  writeFileSync(
    DOCUMENT,
    text
      .replace(PART, (_, open: string, close: string) => `${open}${tableOf(results)}${close}`)
      .replaceAll(FIGURES, (all, open: string, id: string, close: string) => {
        const extra = results.extra?.[id];
        return extra === undefined ? all : `${open}${figuresOf(extra)}${close}`;
      }),
  );
}

function figuresOf({ date, figures }: NonNullable<ResultsFile["extra"]>[string]): string {
  const rows = Object.entries(figures).map(([name, value]) => `| ${name} | ${value} |`);
  return `
Measured ${date.slice(0, 16)}Z.

| figure | |
|---|---|
${rows.join("\n")}

`;
}

function tableOf({ machine, workloads: found }: ResultsFile): string {
  const shown = (value: number | null | undefined, digits = 3): string =>
    value === null || value === undefined ? "–" : String(Number(value.toPrecision(digits)));
  const rows = workloads({ smoke: false }).flatMap(({ id, shape }) => {
    const result = found[id];
    if (result === undefined) return [];
    const { ours, bare, ratio, unit, n, spread, server, cpuMsPerTask: cpu, date } = result;
    const range = (pair: readonly [number, number] | null): string =>
      pair === null ? "–" : `${shown(pair[0])}–${shown(pair[1])}`;
    return [
      `| ${id} ${titleOf(shape)} | ${unit} | ${shown(bare)} (${range(spread.bare)}) | ${shown(ours)} (${range(spread.ours)}) | **${shown(ratio)}** | ${n} | ${shown(cpu.bare)} / ${shown(cpu.ours)} | ${server} | ${date.slice(0, 16)}Z |`,
    ];
  });
  return `
${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, ${machine.platform}, Node ${machine.node}. Medians, lowest
and highest in brackets; ratio = Meridian / bare: lower is better for s, higher for tasks/s.

| workload | unit | bare | Meridian | ratio | n | CPU ms a task, bare / Meridian | Temporal on | measured |
|---|---|---|---|---|---|---|---|---|
${rows.join("\n")}

`;
}
