import type { z } from "zod";
import { DefinitionError, MeridianError } from "../core/errors.ts";
import { Builder } from "./builder.ts";
import { registry } from "./registry.ts";
import type { Dag } from "./registry.ts";
import { showLast } from "./show.ts";
import type { DagTools } from "./tool-types.ts";
import type { DagOptions, NoSchema, ParamsSchema } from "./types.ts";

/**
 * Defines a DAG: its tasks are those that `build` defines. Give each DAG of a file an id of its own; a loop may
 * define many. `build` gets `task`, `taskGroup` and the like too: by these, bodies see the DAG's params with their types.
 *
 * @example
 * export const hello = dag("hello", { schedule: "0 6 * * *", startDate: "2026-01-01" }, () => {
 *   const numbers = task("numbers", () => [1, 2, 3]);
 *   task("total", { inputs: { numbers } }, ({ inputs }) => inputs.numbers.length);
 * });
 */
export function dag<const Id extends string, S extends ParamsSchema = NoSchema>(
  id: Id,
  options: DagOptions<S>,
  build: (tools: DagTools<z.output<S>>) => void,
): Dag<Id, z.input<S>>;
export function dag<const Id extends string>(
  id: Id,
  build: (tools: DagTools<z.output<NoSchema>>) => void,
): Dag<Id, z.input<NoSchema>>;
export function dag(id: unknown, ...rest: readonly unknown[]): Dag {
  const [options, build] = rest.length < 2 ? [{}, rest[0]] : rest;
  const shared = registry();
  const builder = new Builder(id, options);
  const where = `dag "${builder.dagId}"`;
  if (shared.open !== undefined) {
    throw new DefinitionError(
      "nested_dag",
      `${where} is defined inside dag "${shared.open.dagId}"; define DAGs one after the other`,
    );
  }
  if (shared.collected?.has(builder.dagId) === true) {
    throw new DefinitionError(
      "duplicate_dag",
      `${where}: this id is taken by another DAG of the same file; give each DAG an id of its own`,
    );
  }
  if (typeof build !== "function") {
    throw new DefinitionError(
      "bad_dag",
      `${where}: ${showLast("function", build)}; expected one that defines its tasks, as the last argument of dag()`,
    );
  }
  const made = run(builder, build as (tools: DagTools) => unknown);
  shared.collected?.set(builder.dagId, made);
  return made;
}

function run(builder: Builder, build: (tools: DagTools) => unknown): Dag {
  const shared = registry();
  shared.open = builder;
  try {
    const answer = build(builder.tools);
    if (typeof (answer as { then?: unknown } | undefined)?.then === "function") {
      throw new DefinitionError(
        "async_dag",
        `dag "${builder.dagId}": its function is async, so tasks after an await would be lost; make it synchronous`,
      );
    }
  } catch (error) {
    throw named(error, `dag "${builder.dagId}": `);
  } finally {
    shared.open = undefined;
  }
  return builder.close();
}

/** The same error, so that its class, stack and line stay the author's; our own name the DAG already. */
function named(error: unknown, where: string): unknown {
  if (error instanceof Error && !(error instanceof MeridianError) && !error.message.startsWith(where)) {
    // Answers false, and does not throw, for an error that is frozen.
    Reflect.set(error, "message", where + error.message);
  }
  return error;
}
