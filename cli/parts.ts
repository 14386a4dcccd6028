import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { serve } from "@hono/node-server";
import type { Client } from "@temporalio/client";
import type pg from "pg";
import { createApp } from "../api/app.ts";
import type { LogReader } from "../api/deps.ts";
import { createClient } from "../client/client.ts";
import { RunStarter } from "../client/starter.ts";
import { Refused } from "../core/errors.ts";
import { linkPackages } from "../platform/code-folder.ts";
import type { Config } from "../platform/config.ts";
import type { Life } from "../platform/life.ts";
import type { Log } from "../platform/log.ts";
import { formatLine } from "../platform/logs/format.ts";
import type { LogStore } from "../platform/logs/store.ts";
import { openObjects } from "../platform/objects/open.ts";
import { connectNative } from "../platform/temporal.ts";
import { createProcessor } from "../processor/processor.ts";
import type { Voice } from "./dev.ts";
import { createDueRuns } from "../schedules/create-runs.ts";
import { installRuntime } from "../worker/runtime.ts";
import { startWorker, type StartedWorker } from "../worker/worker.ts";
import { rememberApi } from "./api-url.ts";
import { pagePort } from "./ports.ts";
import { openReader, temporalAddress } from "./resources.ts";
import { VERSION } from "./version.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

const clock = (): number => Date.now();

export interface Shared {
  readonly config: Config;
  readonly pool: pg.Pool;
  readonly logs: LogStore;
  readonly log: Log;
  readonly life: Life;
}

/** The worker of this process, over a connection of its own. */
export async function startWorkerPart(shared: Shared): Promise<StartedWorker> {
  const { config, life, log } = shared;
  installRuntime(log);
  linkPackages(resolve(config.home), process.cwd());
  const connection = await connectNative(config, temporalAddress(config));
  life.onEnd("worker connection", async () => await connection.close());
  return await startWorker({ ...shared, objects: await openObjects(config), connection, clock }, life);
}

/** The DAG folder; refused when it is not there. */
export function checkDagFolder(config: Config): string {
  const folder = resolve(config.dags);
  if (existsSync(folder)) return folder;
  throw new Refused(
    "no_dag_folder",
    `the DAG folder ${folder} does not exist: make it, or set MERIDIAN_DAGS`,
  );
}

/** Watches the DAG folder; what it stores is looked at by `createRuns` at once. Done after the first pass. */
export async function startProcessorPart(
  shared: Shared,
  createDue: (dagIds: readonly string[]) => Promise<unknown>,
  voice?: Pick<Voice, "log" | "stored" | "same">,
): Promise<void> {
  const { config, pool, log, life } = shared;
  const folder = checkDagFolder(config);
  linkPackages(resolve(config.home), process.cwd());
  const processor = createProcessor({
    pool,
    folder,
    home: resolve(config.home),
    limits: { timeoutMs: config.importTimeoutMs },
    log: voice?.log ?? log,
    onSame: (path) => voice?.same(path),
    onStored: (dagIds) => {
      voice?.stored(dagIds);
      return createDue(dagIds).catch((error: unknown) =>
        log.warn({ err: error }, "creating due runs failed; the clock will"),
      );
    },
  });
  life.onEnd("processor", async () => await processor.stop());
  await processor.start();
}

/** Starts runs from a process that has no worker. */
export function remoteStarter({ config, pool, log }: Shared, temporal: Client): RunStarter {
  return new RunStarter({
    pool,
    temporal,
    taskQueue: config.taskQueue,
    lostAfterMs: config.lostAfterMs,
    turnOverEvents: config.turnOverEvents,
    eager: false,
    onError: (error, what) => log.warn({ err: error }, what),
  });
}

/** Creates due runs from a process that has no worker. */
export function dueCreator(shared: Shared, starter: RunStarter) {
  const { pool, log } = shared;
  const onError = (error: Error, what: string): void => log.warn({ err: error }, what);
  const deps = { pool, starter, clock, onError };
  return async (dagIds: readonly string[]): Promise<number> => await createDueRuns(deps, 0, 1, dagIds);
}

export interface ApiPart {
  readonly url: string;
}

/** The API and the page. With the starter of a worker in the same process, runs start without a dispatch. */
export async function startApiPart(
  shared: Shared,
  starter: RunStarter,
  createDue: (dagIds: readonly string[]) => Promise<unknown>,
  options: { temporalUi: string | null },
): Promise<ApiPart> {
  const { config, pool, logs, log, life } = shared;
  const client = createClient({
    pool,
    starter,
    clock,
    onDue: createDue,
    onError: (error, what) => log.warn({ err: error }, what),
  });
  const webFolder = join(ROOT, "web/dist");
  const temporalUi = config.temporalUi ?? options.temporalUi;
  const closing = new AbortController();
  const app = createApp({
    db: pool,
    ...(config.readerUrl === undefined ? {} : { reader: openReader(config, life, log, config.readerUrl) }),
    client,
    logs: textReader(logs),
    objects: await openObjects(config),
    temporalWeb: temporalUi === null ? null : { url: temporalUi, namespace: config.temporalNamespace },
    allowedHosts: [...config.allowedHosts, config.host],
    publicUrl: config.apiUrl,
    webFolder: existsSync(join(webFolder, "index.html")) ? webFolder : null,
    version: VERSION,
    closing: closing.signal,
    log: (fields, message) => log.error(fields, message),
  });
  const port = await pagePort(config);
  const server = await new Promise<ReturnType<typeof serve>>((done) => {
    const listening = serve({ fetch: app.fetch, hostname: config.host, port }, () => done(listening));
  });
  life.onEnd("API", async () => {
    closing.abort();
    await new Promise<void>((done) => {
      server.close(() => done());
      if ("closeIdleConnections" in server) server.closeIdleConnections();
      setTimeout(() => "closeAllConnections" in server && server.closeAllConnections(), 2_000).unref();
    });
  });
  const host = config.host === "0.0.0.0" || config.host === "::" ? "127.0.0.1" : config.host;
  const url = `http://${host}:${port}`;
  life.onEnd("API address", rememberApi(config, url));
  return { url };
}

/** What a person reads of a log: a line each, with its time and level. */
function textReader(logs: LogStore): LogReader {
  return {
    async read(key, offset) {
      const { lines, nextOffset, done } = await logs.read(key, offset);
      return { text: lines.map(formatLine).join(""), nextOffset, done };
    },
  };
}
