import type { LimitsFile } from "../core/limits-file.ts";
import type { Db } from "./connection.ts";

/** The limits file that is in force. */
export interface LimitsRow {
  readonly id: number;
  readonly at: Date;
  readonly who: string;
  readonly spec: LimitsFile;
}

/** Null: none has been applied yet. */
export async function readLimits(db: Db): Promise<LimitsRow | null> {
  const { rows } = await db.query<LimitsRow>(
    "select id::float8 as id, at, who, spec from app.limits order by id desc limit 1",
  );
  return rows[0] ?? null;
}

/** What is applied elsewhere counts here so much later, at the most. */
const FRESH_MS = 2_000;

/** The limits in force, for what asks often: a look at the newest id each two seconds, and the file when that is another. */
export class LimitsInForce {
  readonly #db: Db;
  readonly #clock: () => number;
  #row: LimitsRow | null = null;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #looking: Promise<LimitsRow | null> | undefined;

  constructor(db: Db, clock: () => number = () => performance.now()) {
    this.#db = db;
    this.#clock = clock;
  }

  /** Null: none has been applied yet. */
  async file(): Promise<LimitsFile | null> {
    if (this.#clock() - this.#lookedAt < FRESH_MS) return this.#row?.spec ?? null;
    this.#looking ??= this.#look().finally(() => (this.#looking = undefined));
    return (await this.#looking)?.spec ?? null;
  }

  async #look(): Promise<LimitsRow | null> {
    const at = this.#clock();
    const { rows } = await this.#db.query<Omit<LimitsRow, "spec"> & { spec: LimitsFile | null }>(
      `select id::float8 as id, at, who, case when id is distinct from $1 then spec end as spec
       from app.limits order by id desc limit 1`,
      [this.#row?.id ?? null],
    );
    const [newest] = rows;
    if (newest !== undefined && newest.spec !== null) this.#row = { ...newest, spec: newest.spec };
    this.#lookedAt = at;
    return this.#row;
  }
}
