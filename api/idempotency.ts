import { createHash } from "node:crypto";
import { createMiddleware } from "hono/factory";
import { Conflict, Refused } from "../core/errors.ts";
import type { Db } from "../db/connection.ts";
import { claimKey, releaseKey, storeAnswer } from "../db/idempotency.ts";
import type { ApiEnv } from "./deps.ts";
import { PROBLEM_TYPE } from "./errors.ts";
import { changesState } from "./guard.ts";

export const KEY_HEADER = "Idempotency-Key";
const KEY = /^[\x21-\x7e]{1,200}$/;
/** Longer than any request takes; after it, a process that died with the key does not block it. */
const LAPSE_MS = 60_000;
const WRITE_REST_MS = 500;

/**
 * The same key gets the same answer: the first request is done, its repeats are answered from the table. An answer
 * that says "try again" (429, 5xx) is not kept. A key is bound to one request; another one with it is a conflict.
 */
export const answerOnce = (db: Db) =>
  createMiddleware<ApiEnv>(async (c, next) => {
    const given = c.req.header(KEY_HEADER);
    if (given === undefined || !changesState(c.req.method)) return next();
    if (!KEY.test(given)) {
      throw new Refused(
        "bad_key",
        `${KEY_HEADER} is not allowed: expected 1 to 200 visible ASCII characters`,
      );
    }
    const key = `${c.get("who")} ${given}`;
    const fingerprint = createHash("sha256")
      .update(`${c.req.method} ${c.req.path}\n${await c.req.text()}`)
      .digest("base64url");
    const claim = await claimKey(db, key, fingerprint, LAPSE_MS);
    switch (claim.kind) {
      case "in_progress":
        if (claim.fingerprint !== fingerprint) throw otherRequest(given);
        throw new Conflict(
          "in_progress",
          `the request with ${KEY_HEADER} "${given}" is being done: ask again later`,
        );
      case "answered": {
        const { status, body } = claim.answer;
        if (claim.answer.fingerprint !== fingerprint) throw otherRequest(given);
        const headers = { "Idempotency-Replayed": "true" };
        if (body === null) return new Response(null, { status, headers });
        const type = status < 400 ? "application/json" : PROBLEM_TYPE;
        return new Response(JSON.stringify(body), { status, headers: { ...headers, "Content-Type": type } });
      }
      case "mine": {
        c.set("claim", { key, at: claim.at });
        await next();
        const { status } = c.res;
        if (status >= 500 || status === 429) return await untilDone(async () => await releaseKey(db, key));
        const text = await c.res.clone().text();
        const body: unknown = text === "" ? null : JSON.parse(text);
        return await untilDone(async () => await storeAnswer(db, key, { fingerprint, status, body }));
      }
    }
  });

/**
 * What was done is answered, though the database went away with the last word: that is tried again behind the answer,
 * for as long as the key blocks others.
 */
async function untilDone(write: () => Promise<void>): Promise<void> {
  const again = async (): Promise<void> => {
    for (const until = Date.now() + LAPSE_MS; Date.now() < until;) {
      await new Promise((resolve) => setTimeout(resolve, WRITE_REST_MS).unref());
      if (await isDone(write)) return;
    }
  };
  if (!(await isDone(write))) void again();
}

const isDone = async (write: () => Promise<void>): Promise<boolean> =>
  await write().then(
    () => true,
    () => false,
  );

const otherRequest = (key: string): Conflict =>
  new Conflict("key_reused", `${KEY_HEADER} "${key}" belongs to another request: use a new one`);
