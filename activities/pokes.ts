/** Checks of sensors that wait: beside their runs, without a slot, an activity or a line of history. */
import { Batcher } from "../core/batcher.ts";
import type { BodyOutcome } from "../core/body.ts";
import { factsOf, runInfoOf, type OpeningSettings } from "../client/opening.ts";
import { tryName } from "../db/runs.ts";
import { storeOutput } from "../db/tries.ts";
import {
  claimPokes,
  endWaits,
  keepPokes,
  poked,
  type Poked,
  type PokeRow,
  type WaitEnding,
  type WaitKey,
} from "../db/waits.ts";
import { runBody } from "./body-run.ts";
import { closingLine, contextOf, isLarge, logKeyOf, type TaskActivitiesDeps } from "./run-task.ts";
import { outputOf } from "./rows.ts";
import { byItsWait, leftMs } from "./bounds.ts";
import { assemble } from "./try-inputs.ts";

export interface PokesDeps extends TaskActivitiesDeps, OpeningSettings {
  /** Those that this worker serves. */
  readonly queues: readonly string[];
  /** It has room, and more are due. */
  readonly wantMore: () => void;
  readonly onError: (error: Error) => void;
}

/** Checks under way at once in one worker, but for those that take long: they keep nobody from theirs. */
const AT_ONCE = 64;
const LONG_MS = 2_000;
/** With those. */
const MOST = 1_000;
/** A body under way hears within so long that its wait has been ended. */
const KEEP_MS = 500;
/** Checks that said no share a statement. */
const REST_MS = 100;

interface Poke {
  readonly key: WaitKey;
  readonly beganAt: number;
  readonly stop: AbortController;
}

export class Pokes {
  readonly #deps: PokesDeps;
  readonly #running = new Map<string, Poke>();
  readonly #poked: Batcher<Poked, undefined>;
  #more = false;
  #keeping = false;
  #ended = false;

  constructor(deps: PokesDeps) {
    this.#deps = deps;
    this.#poked = new Batcher<Poked, undefined>(
      async (all) => {
        await poked(deps.pool, deps.workerId, all);
        return all.map(() => undefined);
      },
      500,
      nameOf,
      async () => await new Promise((resolve) => setTimeout(resolve, REST_MS)),
    );
  }

  /** Takes what is due, as far as there is room, and checks it. */
  async look(): Promise<void> {
    const room = this.#room;
    if (room <= 0 || this.#ended) return;
    const { pool, workerId, queues, lostAfterMs, onError } = this.#deps;
    const rows = await claimPokes(pool, workerId, queues, room, lostAfterMs);
    this.#more = rows.length === room;
    for (const row of rows) {
      const poke = { key: keyOf(row), beganAt: performance.now(), stop: new AbortController() };
      const name = nameOf(row);
      this.#running.set(name, poke);
      this.#check(row, poke.stop.signal)
        .catch(onError)
        .finally(() => {
          this.#running.delete(name);
          if (this.#more && this.#room >= AT_ONCE / 2) this.#deps.wantMore();
        });
    }
    if (!this.#keeping && this.#running.size > 0) this.#keepLater();
  }

  get #room(): number {
    const long = performance.now() - LONG_MS;
    const brief = [...this.#running.values()].filter(({ beganAt }) => beganAt > long).length;
    return Math.min(AT_ONCE - brief, MOST - this.#running.size);
  }

  /** Takes no more. */
  end(): void {
    this.#ended = true;
  }

  #keepLater(): void {
    this.#keeping = true;
    setTimeout(() => void this.#keep(), KEEP_MS);
  }

  async #keep(): Promise<void> {
    const { pool, workerId, lostAfterMs, onError } = this.#deps;
    try {
      const keys = [...this.#running.values()].map(({ key }) => key);
      for (const key of keys.length === 0 ? [] : await keepPokes(pool, workerId, keys, lostAfterMs))
        this.#running.get(nameOf(key))?.stop.abort(new Error("its wait has ended"));
    } catch (error) {
      onError(error as Error);
    }
    this.#keeping = false;
    if (this.#running.size > 0) this.#keepLater();
  }

  async #check(row: PokeRow, signal: AbortSignal): Promise<void> {
    const { versions, logs, pool } = this.#deps;
    const version = await versions.load(row.version);
    const info = runInfoOf(factsOf(row.run, row, row.version), version, this.#deps);
    const task = version.plan.tasks[version.plan.positions.get(row.task_id)!]!;
    const name = { taskId: row.task_id, mapIndex: row.map_index, try: row.try, maxTries: task.retries + 1 };
    const refs = row.spec.refs ?? {};
    const parts = row.inputs.map(([input, output, stored]) => ({
      name: input,
      output: output === null ? null : (JSON.parse(output) as unknown),
      stored,
    }));
    const expiresAt = row.expires_at?.getTime();
    const logKey = logKeyOf(info, name);
    let logged = false;
    const ended = await runBody(
      this.#deps,
      {
        bundleHash: info.bundleHash,
        loadBundle: async (hash) => await versions.bundle(hash),
        context: contextOf(info, name, row.conf),
        inputs: assemble(refs, parts),
        refs,
        ...(row.spec.asked !== undefined && { asked: row.spec.asked }),
        executionTimeoutMs: leftMs(Date.now(), expiresAt, row.try_expires_at?.getTime()),
        isolation: task.isolation,
      },
      signal,
      (line) => {
        logged = true;
        logs.append(logKey, [line]);
      },
    );
    const outcome = byItsWait(ended.outcome, expiresAt);
    const isOver = outcome.kind !== "deferred" && outcome.kind !== "cancelled" && outcome.kind !== "requeued";
    if (isOver && (logged || outcome.kind !== "success")) {
      logged = true;
      logs.append(logKey, [closingLine(outcome)]);
    }
    if (logged) await logs.close(logKey);
    if (outcome.kind === "deferred" || outcome.kind === "requeued") {
      await this.#poked.add({ ...keyOf(row), again: outcome.kind === "requeued" });
      return;
    }
    if (outcome.kind === "success" && (ended.stored !== null || isLarge(outcome)))
      await storeOutput(pool, keyOf(row), outputOf(outcome), ended.stored);
    const ending = endingOf(outcome);
    // What was stopped has ended already.
    if (ending === null) return;
    if ((await endWaits(pool, [{ ...keyOf(row), ended_by: null, ...ending }])).length > 0)
      this.#deps.wantTelling();
  }
}

function endingOf(outcome: BodyOutcome): Pick<WaitEnding, "ended_as" | "payload" | "detail"> | null {
  switch (outcome.kind) {
    case "success": {
      const output = isLarge(outcome) ? null : outputOf(outcome);
      return {
        ended_as: "success",
        payload: output === null ? null : JSON.stringify(output),
        detail: outcome.measured === undefined ? null : { measured: outcome.measured },
      };
    }
    case "skipped":
      return { ended_as: "skipped", detail: { message: outcome.message } };
    case "failed":
      return { ended_as: "failed", detail: { error: outcome.error } };
    case "timed_out":
      return {
        ended_as: outcome.error.retryable ? "timed_out" : "expired",
        detail: { message: outcome.error.message },
      };
    case "cancelled":
    case "requeued":
    case "deferred":
      return null;
  }
}

const keyOf = ({ run, task_id, map_index, try: number, wait }: WaitKey): WaitKey => ({
  run,
  task_id,
  map_index,
  try: number,
  wait,
});

const nameOf = (key: WaitKey): string => `${tryName(key)} ${key.wait}`;
