/** Runs whose tasks wait, as rows, and a Temporal that only notes what they are told. */
import type { Client } from "@temporalio/client";
import { expect } from "vitest";
import { createClient } from "../../client/client.ts";
import { RunStarter } from "../../client/starter.ts";
import type { EndWaitRequest, MeridianClient } from "../../client/types.ts";
import { tellWaits } from "../../client/waker.ts";
import { MeridianError } from "../../core/errors.ts";
import type { SerialTask } from "../../core/graph.ts";
import { runIdOf, workflowIdOf } from "../../core/ids.ts";
import type { SerialEvent, SerialWait } from "../../core/waits.ts";
import { transaction } from "../../db/connection.ts";
import { beginWaits, type NewWait } from "../../db/waits.ts";
import type { WokenMessage } from "../../workflows/messages.ts";
import { insertDag, insertRun, insertVersion } from "../api/rows.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { serialTask } from "../support/serial.ts";

export const event = (more: Partial<SerialEvent> = {}): SerialEvent => ({
  kind: "event",
  payload: null,
  timeoutMs: null,
  ...more,
});
export const waiting = (id: string, wait: SerialWait = event(), more: Partial<SerialTask> = {}): SerialTask =>
  serialTask(id, [], { wait, ...more });

interface WaitShown {
  readonly task_id: string;
  readonly try: number;
  readonly begun: boolean;
  readonly ended_as: string | null;
  readonly ended_by: string | null;
  readonly payload: unknown;
}

export class WaitsRig {
  readonly database: TestDatabase;
  readonly client: MeridianClient;
  /** What the last run was told. */
  told: WokenMessage[] = [];
  /** What telling does first; may throw. */
  onSignal: () => void = () => undefined;
  run = 0;
  runId = "";
  readonly #temporal: Client;
  #day = 0;

  private constructor(database: TestDatabase) {
    this.database = database;
    const { pool } = database;
    this.#temporal = {
      workflow: {
        getHandle: (workflowId: string) => ({
          signal: async (_signal: unknown, messages: WokenMessage[]) => {
            if (workflowId !== workflowIdOf("orders", this.runId)) return;
            this.onSignal();
            this.told.push(...messages);
          },
        }),
      },
    } as unknown as Client;
    const starter = new RunStarter({
      pool,
      temporal: this.#temporal,
      taskQueue: "q",
      lostAfterMs: 15_000,
      eager: false,
      turnOverEvents: 10_000,
      onError: () => undefined,
    });
    this.client = createClient({ pool, starter, clock: Date.now });
  }

  /** `connections`: by how many at once things are asked. */
  static async make(connections: number): Promise<WaitsRig> {
    const database = await createTestDatabase("waits", connections);
    await insertDag(database.pool, "orders");
    return new WaitsRig(database);
  }

  /** A running run of a version with these tasks. */
  async newRun(tasks: readonly SerialTask[]): Promise<void> {
    await insertVersion(this.database.pool, "orders", tasks);
    const date = new Date(Date.UTC(2026, 0, 1 + this.#day++)).toISOString();
    this.run = await insertRun(this.database.pool, "orders", date, { state: "running" });
    this.runId = runIdOf(Date.parse(date));
    this.told = [];
    this.onSignal = () => undefined;
  }

  /** A task begins to wait, as its run writes it. True: its wait has ended already. */
  async begin(taskId: string, more: Partial<NewWait> = {}): Promise<boolean> {
    return await transaction(this.database.pool, async (db) => {
      const key = { run: this.run, task_id: taskId, map_index: -1, try: 1, wait: 1, ...more };
      await db.query(
        `insert into app.cell (run, task_id, map_index, state, try, phase) values ($1, $2, $3, 'deferred', $4, -1)
         on conflict on constraint cell_pkey do update set state = 'deferred', try = excluded.try`,
        [this.run, taskId, key.map_index, key.try],
      );
      return await beginWaits(db, [{ ...key, kind: "event", resumes: false, spec: {}, ...more }]);
    });
  }

  byName(taskId: string, mapIndex = -1): Extract<EndWaitRequest["at"], { dagId: string }> {
    return { dagId: "orders", runId: this.runId, taskId, mapIndex };
  }

  byAddress(taskId: string, number = 1): EndWaitRequest["at"] {
    return { run: this.run, taskId, mapIndex: -1, try: number, wait: 1 };
  }

  /** `ended`, or the code of what stands against it. */
  async end(at: EndWaitRequest["at"], payload: unknown = null): Promise<string> {
    try {
      await this.client.endWait({ at, payload, who: "ann" });
      return "ended";
    } catch (error) {
      if (error instanceof MeridianError) return error.code;
      throw error;
    }
  }

  async rows(): Promise<WaitShown[]> {
    const { rows } = await this.database.pool.query<WaitShown>(
      `select task_id, try, begun_at is not null as begun, ended_as, ended_by, payload from app.wait where run = $1
       order by task_id collate "C", map_index, try, wait`,
      [this.run],
    );
    return rows;
  }

  /** Of which tasks the run was told, once or more often. */
  toldTasks(): string[] {
    return [...new Set(this.told.map(({ taskId }) => taskId))].sort();
  }

  /** What no process has told yet, as the outbox of any other one finds it when its turn has come. */
  async tellTheRest(): Promise<void> {
    const { pool } = this.database;
    await pool.query(
      `update app.wait w set tell_after = app.now()
       from (select * from app.wait where run = $1 and not known
             order by run, task_id, map_index, try, wait for update) x
       where w.run = x.run and w.task_id = x.task_id and w.map_index = x.map_index and w.try = x.try and w.wait = x.wait`,
      [this.run],
    );
    await tellWaits({
      pool,
      temporal: this.#temporal,
      onError: (error) => {
        throw error;
      },
    });
    await this.#untilTold();
  }

  /** What another teller has just taken is told by that one, in a moment. */
  async #untilTold(): Promise<void> {
    const { rows } = await this.database.pool.query<{ task_id: string }>(
      `select distinct task_id from app.wait
       where run = $1 and ended_at is not null and begun_at is not null and not known and ended_as <> 'cancelled'`,
      [this.run],
    );
    for (const until = Date.now() + 5_000; Date.now() < until;) {
      const told = new Set(this.toldTasks());
      if (rows.every(({ task_id }) => told.has(task_id))) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

export async function refusal(work: Promise<unknown>): Promise<MeridianError> {
  const error: unknown = await work.then(
    () => null,
    (e: unknown) => e,
  );
  expect(error).toBeInstanceOf(MeridianError);
  return error as MeridianError;
}
