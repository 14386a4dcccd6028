import { randomUUID } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Retryable } from "../../../core/errors.ts";
import { picked } from "../../../core/mapping.ts";
import type { FileInput } from "../types.ts";

/**
 * An output up to this size goes through the database, where 500 of them in one statement still are a small one; a
 * larger one goes to the object store.
 */
export const LARGE_BYTES = 64 * 1024;

/** Large values between a body and its worker: files, so that neither a message nor the worker's memory holds them. */
export class Spool {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Answers the name of the file. */
  async write(json: string): Promise<string> {
    const name = `${randomUUID()}.json`;
    const path = join(this.#folder, name);
    try {
      await mkdir(this.#folder, { recursive: true });
      await writeFile(path, json);
      return name;
    } catch (error) {
      await rm(path, { force: true }).catch(() => undefined);
      throw new Retryable(
        "output_not_kept",
        `an output of ${json.length} characters could not be written to ${this.#folder} (${String(error)}); make room there`,
        { cause: error },
      );
    }
  }

  async input(name: string, file: FileInput): Promise<unknown> {
    if ("path" in file) return picked(await this.#read(name, file.path), file.pick);
    return await Promise.all(
      file.parts.map(async (part) => ("path" in part ? await this.#read(name, part.path) : part.value)),
    );
  }

  async #read(name: string, path: string): Promise<unknown> {
    try {
      return JSON.parse(await readFile(path, "utf8")) as unknown;
    } catch (error) {
      throw new Retryable(
        "input_unreadable",
        `input "${name}" could not be read from ${path} (${String(error)})`,
        { cause: error },
      );
    }
  }
}
