import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { bundlePath, writeBundle } from "../../platform/code-folder.ts";
import type { BodyJob } from "./types.ts";

/** Between two looks whether a bundle is still there: each try asks for one. */
const LOOK_AGAIN_MS = 1_000;

/** Bundles as files that a thread can import; each is loaded once per process, and not at all when its file is there. */
export class CodeFiles {
  readonly #folder: string;
  readonly #ready = new Map<string, Promise<string>>();
  /** When each was last seen there. */
  readonly #seenAt = new Map<string, number>();

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
    if (ready === undefined || this.#isGone(hash)) {
      ready = this.#prepare(hash, load);
      this.#ready.set(hash, ready);
      this.#seenAt.delete(hash);
      ready.then(
        () => this.#seenAt.set(hash, performance.now()),
        () => this.#ready.delete(hash),
      );
    }
    return ready;
  }

  /** Someone may have emptied the folder. */
  #isGone(hash: string): boolean {
    const seenAt = this.#seenAt.get(hash);
    if (seenAt === undefined || performance.now() - seenAt < LOOK_AGAIN_MS) return false;
    this.#seenAt.set(hash, performance.now());
    return !existsSync(bundlePath(this.#folder, hash));
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
