import type pg from "pg";
import { afterEach, beforeEach } from "vitest";
import type { Processor, ProcessorOptions } from "../../processor/processor.ts";
import { makeProcessor, makeWorkplace, type Workplace } from "./support.ts";
import { createTestDatabase } from "../support/database.ts";

export interface Rig {
  place: Workplace;
  pool: pg.Pool;
  /** Stopped after the test. */
  processor(options?: Partial<ProcessorOptions>): Processor;
  versions(): Promise<{ dag_id: string; number: number; version: number; hash: string }[]>;
  // oxlint-disable-next-line typescript/no-explicit-any
  dag(id: string): Promise<any>;
  // oxlint-disable-next-line typescript/no-explicit-any
  file(path: string): Promise<any>;
}

/** A folder and a database for each test of the file. */
export function useRig(): Rig {
  let drop: () => Promise<void>;
  const processors: Processor[] = [];
  const first = async (text: string, value: string) => (await rig.pool.query(text, [value])).rows[0];
  const rig: Rig = {
    place: undefined as unknown as Workplace,
    pool: undefined as unknown as pg.Pool,
    processor(options) {
      const made = makeProcessor(rig.place, rig.pool, options);
      processors.push(made);
      return made;
    },
    versions: async () =>
      (
        await rig.pool.query(
          "select dag_id, number, version, hash from app.dag_version order by dag_id, number",
        )
      ).rows,
    dag: (id) => first("select * from app.dag where dag_id = $1", id),
    file: (path) => first("select * from app.dag_file where path = $1", path),
  };
  beforeEach(async () => {
    rig.place = makeWorkplace();
    ({ pool: rig.pool, drop } = await createTestDatabase("processor"));
  });
  afterEach(async () => {
    await Promise.all(processors.splice(0).map((processor) => processor.stop()));
    await drop();
    rig.place.remove();
  });
  return rig;
}
