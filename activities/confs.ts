import { confOf } from "../db/runs.ts";
import type { Db } from "../db/connection.ts";

type Conf = Readonly<Record<string, unknown>>;

/** Runs whose conf a worker keeps at hand. It never changes, so the oldest may simply be dropped. */
const KEPT = 50;

/** Reads what was handed to runs at their trigger, where it is too large to travel with each of their tries. */
export class Confs {
  readonly #db: Db;
  readonly #kept = new Map<number, Conf>();

  constructor(db: Db) {
    this.#db = db;
  }

  async of(run: number): Promise<Conf> {
    const known = this.#kept.get(run);
    if (known !== undefined) return known;
    const conf = await confOf(this.#db, run);
    this.#kept.set(run, conf);
    if (this.#kept.size > KEPT) this.#kept.delete(this.#kept.keys().next().value!);
    return conf;
  }
}
