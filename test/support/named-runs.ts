/** Runs of a product under test, by the names of their cells: `load[2]`. */
import type { Product } from "./product.ts";

/** `dag(…)` with all that its function gets. */
export const dagFile = (id: string, body: string): string =>
  `dag("${id}", { schedule: null }, ({ task, taskGroup, branch, switchOn, shortCircuit, sensor, waitFor, waitUntil, waitForRun }) => { ${body} });`;

export interface NamedRun {
  readonly run: number;
  readonly state: string;
  /** By name, as all that follow; of the last try each. */
  readonly cells: Readonly<Record<string, string>>;
  readonly outputs: Readonly<Record<string, unknown>>;
  readonly errors: Readonly<Record<string, { readonly code: string; readonly message: string } | null>>;
  readonly tries: Readonly<Record<string, number>>;
}

interface CellRow {
  readonly task_id: string;
  readonly map_index: number;
}
type TryRow = CellRow & {
  readonly try: number;
  readonly output: unknown;
  readonly error: NamedRun["errors"][string];
};

export class Runs {
  readonly #product: Product;
  #commands = 0;

  constructor(product: Product) {
    this.#product = product;
  }

  async view(dagId: string, runId: string): Promise<NamedRun> {
    const { run, state } = await this.#product.run(dagId, runId);
    const cells = await this.#named<CellRow & { state: string }>(
      "select task_id, map_index, state from app.cell where run = $1 order by 1, 2",
      run,
    );
    const tries = await this.#named<TryRow>(
      "select * from app.task_try where run = $1 order by task_id, map_index, try",
      run,
    );
    const last = <K extends "output" | "error" | "try">(key: K) =>
      Object.fromEntries(tries.map(([name, row]) => [name, row[key]])) as Record<string, TryRow[K]>;
    return {
      run,
      state,
      cells: Object.fromEntries(cells.map(([name, row]) => [name, row.state])),
      outputs: last("output"),
      errors: last("error"),
      tries: last("try"),
    };
  }

  async begin(dagId: string, conf: Record<string, unknown> = {}): Promise<string> {
    return (await this.#product.client.trigger({ dagId, logicalAt: null, conf, who: "test" })).runId;
  }

  async ended(dagId: string, runId: string, withinMs = 60_000): Promise<NamedRun> {
    await this.#product.ended(dagId, runId, withinMs);
    return await this.view(dagId, runId);
  }

  async trigger(dagId: string, conf: Record<string, unknown> = {}, withinMs = 60_000): Promise<NamedRun> {
    return await this.ended(dagId, await this.begin(dagId, conf), withinMs);
  }

  async clear(dagId: string, runId: string, taskIds: readonly string[], downstream = false): Promise<void> {
    const selection = { tasks: taskIds.map((taskId) => ({ taskId })), downstream };
    await this.#product.client.command({
      dagId,
      runId,
      who: "test",
      command: { id: this.#commandId(), kind: "clear", selection },
    });
  }

  async fail(dagId: string, runId: string): Promise<void> {
    const command = { id: this.#commandId(), kind: "end", as: "failed", reason: "by hand" } as const;
    await this.#product.client.command({ dagId, runId, who: "test", command });
  }

  async slotsInUse(run: number): Promise<number> {
    return (await this.#product.pool.query("select from app.lease where run = $1", [run])).rowCount ?? 0;
  }

  #commandId(): string {
    return `command-${++this.#commands}`;
  }

  async #named<Row extends CellRow>(sql: string, run: number): Promise<(readonly [string, Row])[]> {
    const { rows } = await this.#product.pool.query<Row>(sql, [run]);
    return rows.map(
      (row) => [row.map_index < 0 ? row.task_id : `${row.task_id}[${row.map_index}]`, row] as const,
    );
  }
}
