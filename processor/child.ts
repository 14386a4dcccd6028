/** The child's program (see `child-code.ts`): imports one bundle after the other and answers with canonical graphs. */
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { collect } from "../authoring/collect.ts";
import { canonicalJson } from "../core/canonical.ts";
import { beginWatch, endWatch, installGuards } from "./guards.ts";
import type { ImportReply, ImportRequest } from "./protocol.ts";
import { rawError } from "./raw-error.ts";
import { isSharedChanged, rememberShared } from "./shared-state.ts";

new Worker(new URL("./watchdog.mjs", import.meta.url), {
  workerData: { parent: process.ppid, maxRssBytes: Number(process.argv[2]) },
  execArgv: [],
}).unref();

// The channel is ours: code that sees `process.send` would talk to a parent it does not know.
const send = process.send!.bind(process) as (reply: ImportReply, done?: () => void) => void;
delete process.send;
// Kept as they are: an imported file may replace them.
const writes = [process.stdout, process.stderr].map((stream) => stream.write.bind(stream));
const now = performance.now.bind(performance);
installGuards();
process.on("disconnect", () => process.exit());
process.on("uncaughtException", (error) =>
  send({ kind: "crashed", error: rawError(error) }, () => process.exit(1)),
);
process.on("message", (request: ImportRequest) => {
  void answer(request).then(async (reply) => {
    await flushed();
    send(reply);
  });
});
rememberShared();
send({ kind: "ready" });

async function answer({ id, path, how }: ImportRequest): Promise<ImportReply> {
  const startedAt = now();
  const durationMs = () => Math.round(now() - startedAt);
  beginWatch(basename(path), how);
  try {
    const dags = await collect(() => import(pathToFileURL(path).href));
    const graphs = dags.map((dag) => canonicalJson(dag.graph));
    const impure = endWatch();
    return { kind: "ok", id, spent: isSharedChanged(), graphs, impure, durationMs: durationMs() };
  } catch (error) {
    endWatch();
    const spent = isSharedChanged();
    return { kind: "failed", id, spent, error: rawError(error), durationMs: durationMs() };
  }
}

/** Printed text may wait in this process: it must reach the parent, which counts it, before the answer does. */
async function flushed(): Promise<void> {
  await Promise.all(writes.map((write) => new Promise<void>((resolve) => void write("", () => resolve()))));
}
