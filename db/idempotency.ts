import type { Db } from "./connection.ts";

/** What a request with an idempotency key was answered. */
export interface StoredAnswer {
  readonly fingerprint: string;
  readonly status: number;
  readonly body: unknown;
}

export type Claim =
  /** Do it. `at`: when the key was first seen, perhaps by one who never answered. */
  | { readonly kind: "mine"; readonly at: number }
  | { readonly kind: "answered"; readonly answer: StoredAnswer }
  | { readonly kind: "in_progress"; readonly fingerprint: string };

/** Claims a key, or says what became of it. A claim without an answer lapses after `lapseMs`. */
export async function claimKey(db: Db, key: string, fingerprint: string, lapseMs: number): Promise<Claim> {
  const claimed = await db.query<{ at: Date }>(
    `insert into app.idempotency as i (key, answer)
     values ($1, jsonb_build_object('fingerprint', $2::text, 'takenAt', extract(epoch from app.now()) * 1000))
     on conflict (key) do update set answer = excluded.answer
       where not i.answer ? 'status' and i.answer->>'fingerprint' = $2
         and (i.answer->>'takenAt')::float8 <= extract(epoch from app.now()) * 1000 - $3::float8
     returning i.at`,
    [key, fingerprint, lapseMs],
  );
  const mine = claimed.rows[0];
  if (mine !== undefined) return { kind: "mine", at: mine.at.getTime() };
  const { rows } = await db.query<{ answer: Partial<StoredAnswer> & { fingerprint: string } }>(
    "select answer from app.idempotency where key = $1",
    [key],
  );
  const answer = rows[0]?.answer;
  if (answer?.status === undefined)
    return { kind: "in_progress", fingerprint: answer?.fingerprint ?? fingerprint };
  return { kind: "answered", answer: answer as StoredAnswer };
}

export async function storeAnswer(db: Db, key: string, answer: StoredAnswer): Promise<void> {
  await db.query("update app.idempotency set answer = $2 where key = $1", [key, JSON.stringify(answer)]);
}

/**
 * Nothing definite came of the request: the next one like it is to be done. When the key was first seen stays, since
 * what it asked for may have been made all the same.
 */
export async function releaseKey(db: Db, key: string): Promise<void> {
  await db.query(
    "update app.idempotency set answer = answer || '{\"takenAt\": 0}' where key = $1 and not answer ? 'status'",
    [key],
  );
}
