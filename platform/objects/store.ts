import type { Readable } from "node:stream";
import { NotFound, Refused, Retryable } from "../../core/errors.ts";

/** An object as it is read. */
interface OpenedObject {
  readonly bytes: number;
  readonly stream: Readable;
}

/**
 * Where values lie that are too large for the database. Keys are ours alone: segments of letters, digits, `_ - . @`
 * with `/` between them. What is stored under a key never changes.
 */
export interface ObjectStore {
  /** As people may read it in logs. */
  readonly address: string;
  /** Takes a file of this machine, which is gone then. Durable when it resolves. Throws `object_store_away`. */
  take(key: string, file: string): Promise<void>;
  /** Throws `object_missing`, or `object_store_away`. */
  open(key: string): Promise<OpenedObject>;
  /** Where the object lies as a file of this machine; null: it is somewhere else. */
  readonly pathOf: ((key: string) => string) | null;
}

const SEGMENT = /^(?!\.\.?$)[A-Za-z0-9_.@-]{1,255}$/;

/** No key leads out of the store (K69). */
export function checkKey(key: string): string {
  if (key.length <= 900 && key.split("/").every((segment) => SEGMENT.test(segment))) return key;
  throw new Refused("bad_object_key", `${JSON.stringify(key.slice(0, 200))} is no key of the object store`);
}

export const objectMissing = (key: string, address: string): NotFound =>
  new NotFound(
    "object_missing",
    `the object store ${address} has nothing under ${key}: it was deleted there, or MERIDIAN_OBJECTS names another store than when it was written`,
  );

export const storeAway = (address: string, error: unknown): Retryable =>
  new Retryable(
    "object_store_away",
    `the object store ${address} does not answer as it should (${textOf(error)}); see MERIDIAN_OBJECTS`,
    { cause: error },
  );

/** Errors of S3 may have their text in the name alone. */
function textOf(error: unknown): string {
  const { name, message } = error as Partial<Error>;
  const text = [name, message].filter((part) => part !== undefined && part !== "" && part !== "Error");
  return text.length === 0 ? String(error) : text.join(": ");
}
