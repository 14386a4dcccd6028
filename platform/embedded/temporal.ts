import { setTimeout as sleep } from "node:timers/promises";
import { Connection } from "@temporalio/client";
import { Refused, Terminal } from "../../core/errors.ts";
import { listensOn } from "./listener.ts";
import { lastLines, sizeOf, tailOf } from "./log-file.ts";
import { type ProcessId, endProcess, isAlive, spawnDetached } from "./process.ts";

export interface TemporalOptions {
  readonly binary: string;
  readonly port: number;
  /** Undefined: no Temporal Web. */
  readonly uiPort?: number | undefined;
  /** Undefined: kept in memory. */
  readonly databaseFile?: string | undefined;
  readonly logFile: string;
  /** Called as soon as the server exists, before it is ready. */
  onSpawn?(id: ProcessId): void;
}

export interface RunningTemporal {
  readonly process: ProcessId;
  readonly port: number;
  readonly address: string;
  readonly ui: string | null;
  stop(): Promise<void>;
}

const READY_TIMEOUT_MS = 60_000;
const STOP_GRACE_MS = 15_000;

/** One user on one machine: limits meant to share a cluster fairly would only slow it down. */
const DYNAMIC_CONFIG = {
  "system.enableEagerWorkflowStart": true,
  "system.enableActivityEagerExecution": true,
  "frontend.rps": 100_000,
  "frontend.namespaceRPS": 100_000,
  "frontend.namespaceRPS.visibility": 1_000,
  "frontend.namespaceCount": 10_000,
  "history.rps": 100_000,
  // Two for each try that ends while a workflow task is under way; beyond it that fails and the run is replayed.
  "history.maximumBufferedEventsBatch": 10_000,
  "matching.rps": 100_000,
  "frontend.persistenceMaxQPS": 100_000,
  "history.persistenceMaxQPS": 100_000,
  "matching.persistenceMaxQPS": 100_000,
  "matching.numTaskqueueReadPartitions": 1,
  "matching.numTaskqueueWritePartitions": 1,
};

/**
 * Measured on 2 cores, workflows of three activities: 89 ms of server CPU each as the CLI comes
 * (rollback journal, full sync), 67 ms with a WAL, 45 ms with a WAL synced at its checkpoints. A
 * killed server loses nothing so; a power cut may lose the last moments, never the file.
 */
const SQLITE_PRAGMAS = ["journal_mode=wal", "synchronous=1", "wal_autocheckpoint=8000"];

/** Starts the dev server and waits until its namespace answers. */
export async function startTemporal(o: TemporalOptions): Promise<RunningTemporal> {
  const logFrom = sizeOf(o.logFile);
  const id = await spawnDetached({ command: o.binary, args: serverArgs(o), logFile: o.logFile });
  o.onSpawn?.(id);
  const failure = await readyOrFailure(id, o, logFrom);
  if (failure === null) return running(id, o.port, o.uiPort);
  await endProcess(id, { signal: "SIGINT", graceMs: 5_000, group: true });
  throw failure;
}

/** Wraps a server that already runs; null when its namespace does not answer. */
export async function adoptTemporal(
  found: ProcessId & { readonly port: number; readonly uiPort?: number },
): Promise<RunningTemporal | null> {
  const until = Date.now() + 5_000;
  while (isAlive(found)) {
    if (await answersAsOurs(found, found.port)) return running(found, found.port, found.uiPort);
    if (Date.now() > until) return null;
    await sleep(50);
  }
  return null;
}

function serverArgs(o: TemporalOptions): string[] {
  const args = [
    "server",
    "start-dev",
    "--ip",
    "127.0.0.1",
    "--port",
    String(o.port),
    "--namespace",
    "default",
  ];
  args.push("--log-level", "warn");
  args.push(...(o.uiPort === undefined ? ["--headless"] : ["--ui-port", String(o.uiPort)]));
  if (o.databaseFile !== undefined) {
    args.push("--db-filename", o.databaseFile);
    for (const pragma of SQLITE_PRAGMAS) args.push("--sqlite-pragma", pragma);
  }
  for (const [key, value] of Object.entries(DYNAMIC_CONFIG)) {
    args.push("--dynamic-config-value", `${key}=${value}`);
  }
  return args;
}

function running(id: ProcessId, port: number, uiPort: number | undefined): RunningTemporal {
  return {
    process: id,
    port,
    address: `127.0.0.1:${port}`,
    ui: uiPort === undefined ? null : `http://127.0.0.1:${uiPort}`,
    stop: async () => {
      await endProcess(id, { signal: "SIGINT", graceMs: STOP_GRACE_MS, group: true });
    },
  };
}

async function readyOrFailure(
  id: ProcessId,
  o: TemporalOptions,
  logFrom: number,
): Promise<Refused | Terminal | null> {
  const until = Date.now() + READY_TIMEOUT_MS;
  while (!(await answersAsOurs(id, o.port))) {
    const over = Date.now() > until;
    if (isAlive(id) && !over) {
      await sleep(25);
      continue;
    }
    const log = tailOf(o.logFile, logFrom);
    const what = over
      ? `no answer on 127.0.0.1:${o.port} in ${READY_TIMEOUT_MS / 1000} s`
      : "ended while starting";
    const text = `embedded Temporal: ${what}: ${lastLines(log)}; see ${o.logFile}`;
    return /address already in use/i.test(log) || /port .*(in use|not free)/i.test(log)
      ? new Refused("port_taken", text)
      : new Terminal("temporal_failed", text);
  }
  return null;
}

/** An answer may come from another server that took the port a moment before: ask who listens. */
async function answersAsOurs(id: ProcessId, port: number): Promise<boolean> {
  if (listensOn(id.pid, port) === false) return false;
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ address: `127.0.0.1:${port}`, connectTimeout: 1_000 });
    await connection.workflowService.describeNamespace({ namespace: "default" });
    return isAlive(id);
  } catch {
    return false;
  } finally {
    await connection?.close();
  }
}
