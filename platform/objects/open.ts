import { join, resolve } from "node:path";
import type { Config } from "../config.ts";
import { createLocalObjects } from "./local.ts";
import type { ObjectStore } from "./store.ts";

/** The store that MERIDIAN_OBJECTS names; without it a folder beside the logs. */
export async function openObjects(config: Pick<Config, "home" | "objects" | "env">): Promise<ObjectStore> {
  const { home, objects, env } = config;
  if (objects === undefined) return createLocalObjects(join(resolve(home), "objects"));
  if (objects.kind === "file") return createLocalObjects(objects.folder);
  // Takes half a second to load, and most installations never want it.
  const { createS3Objects } = await import("./s3.ts");
  return createS3Objects({ bucket: objects.bucket, prefix: objects.prefix, env });
}
