/** A run as a person reads it. */
import type { Cell, RunDetail, Try, Waiting } from "../api/contracts.ts";
import { instanceName } from "../core/instance-name.ts";
import type { Client } from "../remote/index.ts";
import { remedyOf } from "../remote/run-words.ts";
import { called } from "./call.ts";
import { printList, type Table } from "./output.ts";
import { clean, cleanLines, coloured, colourOf, secondsOf, textOf } from "./table.ts";

/** Of more failed tasks than these, only the names. */
const EXPLAINED = 10;

export const cellName = ({ taskId, mapIndex }: Pick<Cell, "taskId" | "mapIndex">): string =>
  instanceName({ taskId, mapIndex });

/** By its label, too. */
export const labelledName = ({
  taskId,
  mapIndex,
  mapLabel,
}: Pick<Cell, "taskId" | "mapIndex" | "mapLabel">) =>
  instanceName({ taskId, mapIndex, mapLabel: mapLabel && clean(mapLabel) });

/** Why it waits, and what can be done where it would wait for ever. */
export function reasonOf(waiting: Pick<Waiting, "pool" | "reason">): string {
  const remedy = remedyOf(waiting);
  const reason = waiting.reason ?? "it has asked for its slots, and nobody has decided yet";
  return remedy === null ? reason : `${reason}: ${remedy}`;
}

export const why = (waiting: Waiting): string =>
  `${clean(reasonOf(waiting))} (since ${textOf(waiting.since)})`;

/** The address of a run on the page, which the API serves. */
export const pageOf = (client: Client, run: { readonly dagId: string; readonly runId: string }): string =>
  `${client.url}/dags/${encodeURIComponent(run.dagId)}?run=${encodeURIComponent(run.runId)}`;

/** Why each task of a run waits, by `cellName`. */
export const waitsOf = (run: RunDetail): ReadonlyMap<string, string> =>
  new Map(
    run.waiting.flatMap((one) =>
      one.taskId === null ? [] : [[cellName({ taskId: one.taskId, mapIndex: one.mapIndex }), why(one)]],
    ),
  );

export const cellTable = (waits: ReadonlyMap<string, string>): Table<Cell> => ({
  columns: {
    taskId: (cell) => cell.taskId,
    mapIndex: (cell) => (cell.mapIndex < 0 ? null : cell.mapIndex),
    mapLabel: (cell) => cell.mapLabel,
    state: (cell) => cell.state,
    try: (cell) => cell.try,
    queuedAt: (cell) => cell.queuedAt,
    startedAt: (cell) => cell.startedAt,
    endedAt: (cell) => cell.endedAt,
    seconds: (cell) => secondsOf(cell),
    waits: (cell) => waits.get(cellName(cell)),
  },
  shown: ["taskId", "state", "try", "startedAt", "seconds", "waits"],
  id: cellName,
});

/** As they began; what has not, last. */
const asTheyBegan = (cells: readonly Cell[]): Cell[] =>
  cells.toSorted((a, b) => (a.startedAt ?? "~").localeCompare(b.startedAt ?? "~"));

/** The cells of a run in the order of its graph, with one for each task that has none yet. */
export async function allCells(client: Client, run: RunDetail): Promise<Cell[]> {
  const { graph } = await client.dags.version(run.dagId, run.version);
  const place = new Map(graph.tasks.map(({ id }, at) => [id, at]));
  const begun = new Set(run.cells.map(({ taskId }) => taskId));
  const none = graph.tasks.filter(({ id }) => !begun.has(id)).map(({ id }) => notBegun(id));
  const placeOf = ({ taskId }: Cell): number => place.get(taskId) ?? place.size;
  return [...run.cells, ...none].toSorted((a, b) => placeOf(a) - placeOf(b) || a.mapIndex - b.mapIndex);
}

const notBegun = (taskId: string): Cell => ({
  taskId,
  mapIndex: -1,
  state: "none",
  try: 0,
  queuedAt: null,
  startedAt: null,
  endedAt: null,
});

export async function printRun(client: Client, run: RunDetail): Promise<void> {
  const reason = run.reason === null ? "" : ` (${clean(run.reason)})`;
  console.log(`${run.dagId} ${run.runId}: ${coloured(run.state, colourOf(run.state))}${reason}`);
  const took = secondsOf(run);
  const facts = [
    `version ${run.version}`,
    `${run.runType}${run.triggeredBy === null ? "" : ` by ${clean(run.triggeredBy)}`}`,
    `interval ${textOf(run.interval.start)} to ${textOf(run.interval.end)}`,
    ...(run.startedAt === null ? [] : [`began ${textOf(run.startedAt)}`]),
    ...(took === null ? [] : [`took ${took} s`]),
  ];
  console.log(facts.join(", "));
  if (Object.keys(run.conf).length > 0) console.log(`conf ${clean(JSON.stringify(run.conf))}`);
  console.log(pageOf(client, run));
  if (run.temporalUrl !== null) console.log(run.temporalUrl);
  for (const one of run.waiting) if (one.taskId === null) console.log(`waits: ${why(one)}`);
  console.log();
  const waits = waitsOf(run);
  const table = cellTable(waits);
  const instances = [
    ...(run.cells.some(({ mapIndex }) => mapIndex >= 0) ? ["mapIndex"] : []),
    ...(run.cells.some(({ mapLabel }) => mapLabel !== undefined) ? ["mapLabel"] : []),
  ];
  const columns = table.shown.filter((name) => name !== "waits" || waits.size > 0);
  printList(await allCells(client, run), table, {
    output: "table",
    columns: columns.flatMap((name) => (name === "taskId" ? [name, ...instances] : [name])).join(),
  });
  await printFailures(client, run, console.log);
}

/** What each failed task said, and where its log is. */
export async function printFailures(
  client: Client,
  run: RunDetail,
  print: (line: string) => void,
): Promise<void> {
  const failed = asTheyBegan(run.cells).filter(({ state }) => state === "failed" || state === "up_for_retry");
  const tries = await Promise.all(
    failed.slice(0, EXPLAINED).map(async ({ taskId, mapIndex }) => {
      const of = { dagId: run.dagId, runId: run.runId, taskId, ...(mapIndex >= 0 && { mapIndex }) };
      return (await client.tasks.tries(of)).tries.findLast(({ error }) => error !== null);
    }),
  );
  for (const [i, cell] of failed.slice(0, EXPLAINED).entries()) {
    const map = cell.mapIndex < 0 ? "" : ` --map-index ${cell.mapIndex}`;
    print("");
    print(errorText(labelledName(cell), tries[i]));
    print(`  log: ${called(`tasks logs ${run.dagId} ${cell.taskId} ${run.runId}${map}`)}`);
  }
  if (failed.length > EXPLAINED) print(`\n… and ${failed.length - EXPLAINED} more failed tasks`);
}

export function errorText(name: string, tried: Try | undefined): string {
  if (tried === undefined || tried.error === null) return `${name} failed`;
  const { code, message, stack } = tried.error;
  const text = stack === undefined ? `${code}: ${message}` : stack;
  return coloured(`${name} ${tried.state} in try ${tried.try}: `, "red") + cleanLines(text.trimEnd());
}
