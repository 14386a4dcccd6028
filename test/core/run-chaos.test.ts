import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RunCell } from "../../core/cells.ts";
import type { Measured, SerialMap } from "../../core/mapping.ts";
import type { RunTask } from "../../core/plan.ts";
import type { At, AtTry, Effect, RunEvent, RunProgress, TryOutcome } from "../../core/progress.ts";
import { countStates, decide, TRIGGER_RULES } from "../../core/rules.ts";
import { Steps } from "../../core/run.ts";
import { TASK_DONE, type TaskState } from "../../core/states.ts";
import type { Deferral, RunWait, WaitEnd } from "../../core/waits.ts";
import { Rig, success, task } from "./run-rig.ts";

interface Node {
  readonly edges: readonly number[];
  readonly rule: (typeof TRIGGER_RULES)[number];
  readonly final: "success" | "failed" | "skipped";
  readonly mapped: boolean;
  readonly width: number;
  /** Mapped over the output of a task before it, when there is one to map over. */
  readonly byOutput: boolean;
  /** It waits: without a body, as a sensor whose first check finds nothing, or by its body's own wish. */
  readonly waits: "never" | "event" | "sensor" | "body";
}

const failed: TryOutcome = { kind: "failed", error: { code: "x", message: "", retryable: false } };
const OUTCOME: Record<Node["final"], TryOutcome> = {
  success,
  failed,
  skipped: { kind: "skipped", message: "" },
};
const WAIT_END: Record<Exclude<Node["final"], "success">, WaitEnd> = {
  failed: { kind: "expired", message: "" },
  skipped: { kind: "skipped", message: "" },
};
const WAIT: Partial<Record<Node["waits"], { wait: RunWait }>> = {
  event: { wait: { kind: "event" } },
  sensor: { wait: { kind: "sensor", timeoutMs: 1000 } },
};
const ASKS: Partial<Record<Node["waits"], Deferral>> = {
  sensor: { on: "poke" },
  body: { on: "event", timeoutMs: null },
};

/** A random graph; some tasks wait, and some are mapped over lists of 0 to 3 items, constant or of a task before them. */
function graphOf(nodes: readonly Node[]) {
  const maps: SerialMap[] = [];
  const tasks: RunTask[] = nodes.map((node, i) => {
    const upstream = i === 0 ? [] : [...new Set(node.edges.map((edge) => edge % i))].sort((a, b) => a - b);
    const own = { triggerRule: node.rule, ...WAIT[node.waits] };
    if (!node.mapped) return task(`t${i}`, upstream, own);
    const source = node.byOutput ? upstream.find((up) => !nodes[up]!.mapped) : undefined;
    const items = source ?? Array.from({ length: node.width }, (_, n) => n);
    maps.push({ group: null, over: { item: items }, how: "product", batch: null, max: 10 });
    return task(`t${i}`, upstream, { ...own, map: maps.length - 1, items: { item: "item" } });
  });
  return { tasks, maps };
}

/** Apart from the rules' own code: what each task ends as, instance by instance, when all of it runs once. */
function oracle(nodes: readonly Node[], tasks: readonly RunTask[]): TaskState[][] {
  const ends: TaskState[][] = [];
  tasks.forEach((one, position) => {
    const { final, mapped, width } = nodes[position]!;
    const counts = countStates(one.upstream.flatMap((up) => ends[up]!));
    const answer = decide(one.triggerRule, counts);
    const whole: TaskState = answer === "run" ? final : answer === "skip" ? "skipped" : "upstream_failed";
    if (!mapped) ends.push([whole]);
    else if (width === 0) ends.push([answer === "fail" ? "upstream_failed" : "skipped"]);
    else ends.push(Array.from({ length: width }, () => whole));
  });
  return ends;
}

/** Cells not done, counted anew. */
function openOf(rig: Rig): number {
  let open = 0;
  for (const { own, instances, count } of rig.progress.tasks) {
    if (count === null) {
      open += TASK_DONE[own.state] ? 0 : 1;
      // Left over from before it is mapped out anew: only what runs still counts.
      open += (instances ?? []).filter(({ state }) => state === "running").length;
    } else open += instances!.slice(0, count).filter(({ state }) => !TASK_DONE[state]).length;
  }
  return open;
}

/** How often the end of each try was recorded that began, or began to wait; all are 1 when each has its end once. */
function endsOf(rig: Rig): number[] {
  const ends = new Map<string, number>();
  for (const effect of rig.effects) {
    if (effect.kind !== "start" && effect.kind !== "defer" && effect.kind !== "record") continue;
    const name = `${effect.task} ${effect.index} ${effect.try}`;
    const ended = effect.kind === "record" && effect.ended !== null ? 1 : 0;
    if (effect.kind === "record" && ended === 0) continue;
    ends.set(name, (ends.get(name) ?? 0) + ended);
  }
  return [...new Set(ends.values())];
}

/** In which states each task's cells are: one that is not needed may be told as a whole or instance by instance. */
const kindsOf = (rig: Rig): TaskState[][] =>
  rig.progress.tasks.map(({ own, instances, count }) =>
    count === null ? [own.state] : [...new Set(instances!.slice(0, count).map(({ state }) => state))].sort(),
  );

const node = fc.record<Node>({
  edges: fc.array(fc.nat(), { maxLength: 3 }),
  rule: fc.constantFrom(...TRIGGER_RULES),
  final: fc.constantFrom("success", "failed", "skipped"),
  mapped: fc.boolean(),
  width: fc.integer({ min: 0, max: 3 }),
  byOutput: fc.boolean(),
  waits: fc.constantFrom("never", "never", "event", "sensor", "body"),
});
const constant = node.map((one) => ({ ...one, byOutput: false }));

/** Runs whatever is asked for, in an order that `picks` choose, and puts commands in between. */
class Chaos {
  readonly rig: Rig;
  readonly #nodes: readonly Node[];
  /** Lists are of other lengths each time they are made. */
  wild = false;
  #steps: Steps | null = null;
  /** Where its steps have come to: a command goes on from there by itself. */
  #stood: RunProgress | null = null;
  #open: RunEvent[] = [];
  readonly #running = new Set<string>();

  constructor(nodes: readonly Node[]) {
    this.#nodes = nodes;
    this.rig = new Rig(graphOf(nodes));
    this.take(this.rig.effects);
  }

  take(effects: readonly Effect[]): void {
    for (const effect of effects) {
      if (effect.kind === "request") this.#open.push({ ...effect, kind: "granted" });
      if (effect.kind === "wait") this.#open.push({ ...effect, kind: "due" });
      if (effect.kind === "start") {
        const name = `${effect.task} ${effect.index}`;
        expect(this.#running.has(name), `${name} runs twice at once`).toBe(false);
        this.#running.add(name);
        const { final, waits } = this.#nodes[effect.task]!;
        const deferral = this.#cell(effect).resume === undefined ? ASKS[waits] : undefined;
        const outcome: TryOutcome =
          deferral !== undefined
            ? { kind: "deferred", deferral }
            : final === "success"
              ? { ...success, measured: this.#measured(effect) }
              : OUTCOME[final];
        this.#open.push({ kind: "ended", task: effect.task, index: effect.index, try: effect.try, outcome });
      }
      if (effect.kind === "record" && effect.state === "deferred") this.#wakes(effect);
      if (effect.kind === "stop") {
        const at = this.#open.findIndex(
          (event) => event.kind === "ended" && event.task === effect.task && event.index === effect.index,
        );
        const event = this.#open[at];
        if (event?.kind === "ended")
          this.#open[at] = { ...event, outcome: { kind: "cancelled", message: "" } };
      }
    }
  }

  #cell({ task, index }: At): RunCell {
    const { own, instances } = this.rig.progress.tasks[task]!;
    return index < 0 ? own : instances![index]!;
  }

  #measured({ task, try: number }: AtTry): Measured {
    const { width } = this.#nodes[task]!;
    return { items: this.wild ? (width + number) % 4 : width };
  }

  /** The end of a wait is told twice, and once more by a row of another wait. */
  #wakes({ task, index, try: number }: AtTry): void {
    const { final, waits } = this.#nodes[task]!;
    const { waits: wait = 0 } = this.#cell({ task, index });
    const ended: WaitEnd =
      final === "success"
        ? { kind: "success", measured: this.#measured({ task, index, try: number }) }
        : WAIT_END[final];
    const end: WaitEnd = waits === "body" ? { kind: "resume" } : ended;
    const woken: RunEvent = { kind: "woken", task, index, try: number, wait, end };
    this.#open.push(woken, woken, { ...woken, wait: wait + 1 }, { ...woken, wait: wait - 1 });
  }

  send(event: RunEvent): void {
    if (event.kind === "ended") this.#running.delete(`${event.task} ${event.index}`);
    // A run's workflow takes its steps on the same cells: it must come out the same.
    if (this.#steps === null || this.#stood !== this.rig.progress)
      this.#steps = new Steps(this.rig.plan, this.rig.progress);
    const { progress, effects } = this.#steps.next(event);
    const sent = this.rig.send(event);
    expect(isDeepStrictEqual([effects, progress], [sent, this.rig.progress])).toBe(true);
    this.#stood = this.rig.progress;
    this.take(sent);
    expect(this.rig.progress.open).toBe(openOf(this.rig));
  }

  next(pick: number): boolean {
    if (this.#open.length === 0) return false;
    const [event] = this.#open.splice(pick % this.#open.length, 1);
    this.send(event!);
    return true;
  }

  command(kind: "clear" | "success" | "failed", picks: readonly number[]): void {
    const names = this.rig.names();
    const chosen = [...new Set(picks.map((pick) => names[pick % names.length]!))];
    if (kind === "clear") this.take(this.rig.clear(...chosen));
    else this.take(this.rig.mark(kind, ...chosen));
    expect(this.rig.progress.open).toBe(openOf(this.rig));
  }

  drain(picks: Iterator<number>): void {
    for (let n = 0; n < 5_000 && this.next(picks.next().value as number); n++);
  }
}

describe("B3 A6 A7: random graphs with mapped tasks and waits", () => {
  it("B3 A6 A7 K25: each run ends in the states that an oracle written apart says, instance by instance", () => {
    fc.assert(
      fc.property(
        fc.array(constant, { minLength: 1, maxLength: 9 }),
        fc.infiniteStream(fc.nat()),
        (nodes, picks) => {
          const chaos = new Chaos(nodes);
          chaos.drain(picks);
          const { rig } = chaos;
          expect(rig.progress.state).not.toBe("running");
          const ends = rig.progress.tasks.map(({ own, instances, count }) =>
            count === null ? [own.state] : instances!.slice(0, count).map(({ state }) => state),
          );
          const said = oracle(nodes, rig.plan.tasks);
          // A mapped task whose rule says no before its list is there is one cell.
          ends.forEach((states, position) => {
            const expected = said[position]!;
            expect(states.length === 1 ? [...new Set(expected)] : expected).toEqual(states);
          });
        },
      ),
      { seed: 7, numRuns: 1500 },
    );
  });
});

describe("B9: random commands at random moments", () => {
  const command = fc.record({
    after: fc.nat({ max: 12 }),
    kind: fc.constantFrom("clear" as const, "clear" as const, "success" as const, "failed" as const),
    cells: fc.array(fc.nat(), { minLength: 1, maxLength: 4 }),
  });

  it("B9 A6: nothing runs twice at once, each try ends once, nothing is left open, and clearing all gives what a fresh run gives", () => {
    fc.assert(
      fc.property(
        fc.array(node, { minLength: 1, maxLength: 8 }),
        fc.array(command, { maxLength: 6 }),
        fc.infiniteStream(fc.nat()),
        (nodes, commands, picks) => {
          const chaos = new Chaos(nodes);
          chaos.wild = true;
          for (const { after, kind, cells } of commands) {
            for (let n = 0; n < after; n++) chaos.next(picks.next().value as number);
            chaos.command(kind, cells);
          }
          chaos.drain(picks);
          chaos.wild = false;
          const { rig } = chaos;
          expect(rig.progress.state).not.toBe("running");
          expect(rig.progress.open).toBe(0);
          expect(endsOf(rig).filter((times) => times !== 1)).toEqual([]);
          const all: At[] = rig.plan.tasks.map((_, at) => ({ task: at, index: -1 }));
          rig.progress = { ...rig.progress, state: "running", ending: null };
          chaos.send({ kind: "clear", cells: all });
          chaos.drain(picks);
          const fresh = new Chaos(nodes);
          fresh.drain(picks);
          expect(kindsOf(rig)).toEqual(kindsOf(fresh.rig));
          expect(rig.progress.state).toBe(fresh.rig.progress.state);
          const seqs = rig.effects.flatMap((effect) => (effect.kind === "record" ? [effect.seq] : []));
          expect(seqs).toEqual(seqs.map((_, i) => i + 1));
        },
      ),
      { seed: 11, numRuns: 1500 },
    );
  });

  it("B9: a run ended at any moment ends, whatever was asked before", () => {
    fc.assert(
      fc.property(
        fc.array(node, { minLength: 1, maxLength: 8 }),
        fc.array(command, { maxLength: 4 }),
        fc.constantFrom("cancelled" as const, "failed" as const),
        fc.infiniteStream(fc.nat()),
        (nodes, commands, as, picks) => {
          const chaos = new Chaos(nodes);
          for (const { after, kind, cells } of commands) {
            for (let n = 0; n < after; n++) chaos.next(picks.next().value as number);
            chaos.command(kind, cells);
          }
          const wasRunning = chaos.rig.progress.state === "running";
          chaos.send({ kind: "end", as, reason: "by hand" });
          chaos.drain(picks);
          expect(chaos.rig.progress.open).toBe(0);
          expect(endsOf(chaos.rig).filter((times) => times !== 1)).toEqual([]);
          if (wasRunning) expect(chaos.rig.progress.state).toBe(as);
        },
      ),
      { seed: 13, numRuns: 1000 },
    );
  });
});
