/** The child's side: imports one bundle after the other and answers with canonical graphs. */
import { pathToFileURL } from "node:url";
// Loaded before the first request, so that it does not count against the file's time.
import "../authoring/index.ts";
import { collect } from "../authoring/collect.ts";
import { canonicalJson } from "../core/canonical.ts";
import type { ImportReply, ImportRequest } from "./protocol.ts";
import { rawError } from "./raw-error.ts";

// The channel is ours: code that sees `process.send` would talk to a parent it does not know.
const send = process.send!.bind(process) as (reply: ImportReply, done?: () => void) => void;
delete process.send;
process.on("disconnect", () => process.exit());
process.on("uncaughtException", (error) =>
  send({ kind: "crashed", error: rawError(error) }, () => process.exit(1)),
);
process.on("message", (request: ImportRequest) => {
  void answer(request).then((reply) => send(reply));
});
send({ kind: "ready" });

async function answer({ id, path }: ImportRequest): Promise<ImportReply> {
  const startedAt = performance.now();
  const durationMs = () => Math.round(performance.now() - startedAt);
  try {
    const dags = await collect(() => import(pathToFileURL(path).href));
    const graphs = dags.map((dag) => canonicalJson(dag.graph));
    return { kind: "ok", id, graphs, durationMs: durationMs() };
  } catch (error) {
    return { kind: "failed", id, error: rawError(error), durationMs: durationMs() };
  }
}
