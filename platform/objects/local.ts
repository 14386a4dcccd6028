import { randomUUID } from "node:crypto";
import { constants, existsSync, mkdirSync } from "node:fs";
import { copyFile, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { checkKey, objectMissing, storeAway, type ObjectStore } from "./store.ts";

/**
 * A folder, of this machine or one that all workers and the API have mounted. It is made now, not when it is written
 * to: a mount that has gone must not be taken for an empty store.
 */
export function createLocalObjects(given: string): ObjectStore {
  const folder = resolve(given);
  const address = `file:${folder}`;
  mkdirSync(folder, { recursive: true });
  const pathOf = (key: string): string => join(folder, checkKey(key));
  return {
    address,
    pathOf,
    async take(key, file) {
      const path = pathOf(key);
      try {
        if (!existsSync(folder)) throw new Error("the folder is not there");
        await mkdir(dirname(path), { recursive: true });
        await sync(file);
        await moveInto(file, path);
        await sync(dirname(path));
      } catch (error) {
        throw storeAway(address, error);
      }
    },
    async open(key) {
      const path = pathOf(key);
      try {
        const handle = await open(path);
        const { size } = await handle.stat();
        return { bytes: size, stream: handle.createReadStream() };
      } catch (error) {
        const isGone = (error as NodeJS.ErrnoException).code === "ENOENT" && existsSync(folder);
        throw isGone ? objectMissing(key, address) : storeAway(address, error);
      }
    },
  };
}

/** A file system takes another's file only as a copy. */
async function moveInto(file: string, path: string): Promise<void> {
  try {
    return await rename(file, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
  }
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    await copyFile(file, temporary, constants.COPYFILE_EXCL);
    await sync(temporary);
    await rename(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
  await rm(file, { force: true });
}

async function sync(path: string): Promise<void> {
  const handle = await open(path);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
