import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { bundlePath, writeBundle } from "../../platform/code-folder.ts";
import type { BodyJob } from "./types.ts";

/** Bundles as files that a thread can import; each is loaded once per process, and not at all when its file is there. */
export class CodeFiles {
  readonly #folder: string;
  readonly #ready = new Map<string, Promise<string>>();
  readonly #written = new Set<string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** URL of the folder, with a slash behind it. */
  get url(): string {
    return pathToFileURL(join(resolve(this.#folder), "/")).href;
  }

  /** File URL of the bundle, written if need be. */
  urlOf(hash: string, load: BodyJob["loadBundle"]): Promise<string> {
    let ready = this.#ready.get(hash);
    // Someone may have emptied the folder.
    if (ready === undefined || (this.#written.has(hash) && !existsSync(bundlePath(this.#folder, hash)))) {
      ready = this.#prepare(hash, load);
      this.#ready.set(hash, ready);
      this.#written.delete(hash);
      ready.then(
        () => this.#written.add(hash),
        () => this.#ready.delete(hash),
      );
    }
    return ready;
  }

  async #prepare(hash: string, load: BodyJob["loadBundle"]): Promise<string> {
    const path = bundlePath(this.#folder, hash);
    if (!existsSync(path)) {
      const { code, sourceMap } = await load(hash);
      await writeBundle(this.#folder, hash, code, sourceMap);
    }
    return pathToFileURL(path).href;
  }
}
