import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
export const HISTORIES = fileURLToPath(new URL("./histories/", import.meta.url));

interface Message {
  encode(message: object): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
}
/** As the server speaks of it: the SDK's own way to JSON fails where a second protobufjs is installed below it. */
const { temporal } = createRequire(createRequire(import.meta.url).resolve("@temporalio/worker"))(
  "@temporalio/proto",
) as {
  readonly temporal: { readonly api: { readonly history: { readonly v1: { readonly History: Message } } } };
};
const { History } = temporal.api.history.v1;

/** Without the names and folders of who made it: they mean nothing to a replay. */
export function written(history: object): Uint8Array {
  const own = History.decode(History.encode(history).finish());
  forget(own);
  return gzipSync(History.encode(own).finish(), { level: 9 });
}

export const read = (bytes: Uint8Array): object => History.decode(gunzipSync(bytes));

function forget(value: unknown): void {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return;
  for (const [key, one] of Object.entries(value)) {
    // Workers and their own queues are called by process and host.
    if (typeof one === "string" && /^\d+@/.test(one)) (value as Record<string, unknown>)[key] = "worker";
    else if (typeof one === "string")
      (value as Record<string, unknown>)[key] = one.replaceAll(ROOT, "/meridian/");
    else if (one instanceof Uint8Array) (value as Record<string, unknown>)[key] = elsewhere(one);
    else forget(one);
  }
}

/** Stacks name the folder of whoever made it. */
function elsewhere(bytes: Uint8Array): Uint8Array {
  const text = Buffer.from(bytes).toString("utf8");
  return text.includes(ROOT) ? Buffer.from(text.replaceAll(ROOT, "/meridian/")) : bytes;
}
