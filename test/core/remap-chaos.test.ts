import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RunCell, TaskProgress } from "../../core/cells.ts";
import type { SerialMap } from "../../core/mapping.ts";
import { pack, unpack } from "../../core/packed.ts";
import { planOf, type RunGraph, type RunTask } from "../../core/plan.ts";
import type { RunProgress, TryOutcome } from "../../core/progress.ts";
import { remap } from "../../core/remap.ts";
import { command } from "../../core/run-command.ts";
import { TASK_DONE } from "../../core/states.ts";
import { failed, skipped } from "./mapped-rig.ts";
import { Rig, success, task } from "./run-rig.ts";

/** One of a few names, so that versions of a DAG have many of their tasks in common. */
interface Node {
  readonly name: number;
  readonly edges: readonly number[];
  readonly mapped: boolean;
  /** Mapped over an output, a constant list, or in one group with the task before it. */
  readonly by: "output" | "constant" | "group";
  readonly width: number;
  readonly decides: boolean;
}

const node: fc.Arbitrary<Node> = fc.record({
  name: fc.nat({ max: 7 }),
  edges: fc.array(fc.nat(), { maxLength: 2 }),
  mapped: fc.boolean(),
  by: fc.constantFrom("output", "constant", "group"),
  width: fc.integer({ min: 0, max: 3 }),
  decides: fc.constantFrom(false, false, true),
});
const version = fc
  .uniqueArray(node, { minLength: 1, maxLength: 8, selector: ({ name }) => name })
  .map(graphOf);

function graphOf(nodes: readonly Node[]): RunGraph {
  const maps: SerialMap[] = [];
  const tasks: RunTask[] = [];
  nodes.forEach(({ name, edges, mapped, by, width, decides }, i) => {
    const upstream = i === 0 ? [] : [...new Set(edges.map((edge) => edge % i))].sort((a, b) => a - b);
    const decide = decides ? { decides: "branch" as const } : {};
    if (!mapped) return void tasks.push(task(`t${name}`, upstream, decide));
    const around = tasks[i - 1]?.map;
    if (by === "group" && around !== undefined)
      return void tasks.push(
        task(
          `t${name}`,
          [...new Set([...upstream, i - 1])].sort((a, b) => a - b),
          { map: around },
        ),
      );
    const source = by === "output" ? upstream.find((up) => tasks[up]!.map === undefined) : undefined;
    const over = { item: source ?? Array.from({ length: width }, (_, n) => n) };
    maps.push({ group: by === "group" ? 0 : null, over, how: "product", batch: null, max: 10 });
    tasks.push(task(`t${name}`, upstream, { ...decide, map: maps.length - 1, items: { item: "item" } }));
  });
  return { tasks, maps };
}

/** What a try of a task ends with: by its name and number alone, so that lists change from one try to the next. */
function outcomeOf(name: string, number: number): TryOutcome {
  const pick = (Number(name.slice(1, 2)) * 5 + number * 3) % 8;
  if (pick === 0) return failed;
  if (pick === 1) return skipped;
  return { ...success, measured: { items: pick % 4 }, follow: [`t${pick}`, `t${(pick + 3) % 8}`] };
}

const cellsOf = ({ own, instances, count }: TaskProgress): readonly RunCell[] =>
  count === null ? [own] : instances!.slice(0, count);

const openOf = (progress: RunProgress): number =>
  progress.tasks.flatMap(cellsOf).filter(({ state }) => !TASK_DONE[state]).length;

/** The number of the last try of each cell, by task and index, of removed ones too. */
function numbersOf(rig: Rig): Map<string, number> {
  const numbers = new Map<string, number>();
  const add = (id: string, { own, instances }: TaskProgress): void => {
    numbers.set(id, own.try);
    instances?.forEach((cell, i) => numbers.set(`${id}[${i}]`, cell.try));
  };
  rig.plan.tasks.forEach(({ id }, position) => add(id, rig.progress.tasks[position]!));
  for (const [id, one] of Object.entries(rig.progress.removed ?? {})) add(id, one);
  return numbers;
}

const finish = (graph: RunGraph): Rig => {
  const rig = new Rig(graph);
  rig.drain(outcomeOf);
  return rig;
};

describe("B2 B9: any run, with any other version of its DAG", () => {
  it("B2: with a version that is alike nothing changes", () => {
    fc.assert(
      fc.property(version, (graph) => {
        const rig = finish(graph);
        const before = rig.progress;
        expect(rig.moveTo(structuredClone(graph))).toEqual({ fresh: [], removed: [], records: [] });
        expect(rig.progress).toEqual(before);
      }),
      { seed: 17, numRuns: 500 },
    );
  });

  it("B2: each cell is done or begins, what is open is counted, and each number of a try is used once", () => {
    fc.assert(
      fc.property(
        fc.array(version, { minLength: 2, maxLength: 5 }),
        fc.infiniteStream(fc.nat()),
        (graphs, picks) => {
          const rig = finish(graphs[0]!);
          const started = new Set<string>();
          const noteTries = (): void => {
            for (const effect of rig.effects.splice(0)) {
              if (effect.kind !== "start") continue;
              const name = `${rig.plan.tasks[effect.task]!.id}[${effect.index}].${effect.try}`;
              expect(started.has(name), `${name} runs once`).toBe(false);
              started.add(name);
            }
          };
          noteTries();
          for (const graph of graphs.slice(1)) {
            const [before, numbers] = [rig.progress, numbersOf(rig)];
            expect([before.state === "running", before.open]).toEqual([false, 0]);
            const { fresh, removed, records } = rig.moveTo(graph);
            rig.progress = unpack(structuredClone(pack(rig.progress)));
            for (const [name, number] of numbers) expect(numbersOf(rig).get(name)).toBe(number);
            rig.progress.tasks.forEach((one, position) => {
              const isDone = cellsOf(one).every(({ state }) => TASK_DONE[state]);
              expect(isDone).toBe(!fresh.includes(position));
            });
            expect(rig.progress.open).toBe(openOf(rig.progress));
            expect(records.map(({ seq }) => seq)).toEqual(records.map((_, i) => before.seq + i + 1));
            expect(rig.progress.seq).toBe(before.seq + records.length);

            const ids = rig.plan.tasks.map(({ id }) => id);
            const chosen = [ids[picks.next().value! % ids.length]!];
            const asked = {
              id: "c",
              kind: "clear",
              selection: { tasks: chosen.map((taskId) => ({ taskId })) },
            } as const;
            const done = command(rig.plan, { ...rig.progress, answers: [] }, asked, { fresh, removed });
            if (done.kind !== "done") throw new Error(`${done.kind} of ${JSON.stringify(asked)}`);
            expect(done.answer.removed ?? 0).toBe(removed.length);
            expect(done.progress.open).toBe(openOf(done.progress));
            rig.progress = done.progress;
            rig.effects.push(...done.effects);
            rig.drain(outcomeOf);
            noteTries();
            expect([rig.progress.state === "running", rig.progress.open]).toEqual([false, 0]);
          }
        },
      ),
      { seed: 19, numRuns: 600 },
    );
  });
});
