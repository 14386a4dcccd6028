import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Connection } from "@temporalio/client";
import { Terminal } from "../../core/errors.ts";
import { type ProcessId, endProcess, isAlive, spawnDetached } from "./process.ts";

export interface TemporalOptions {
  readonly binary: string;
  readonly port: number;
  /** Undefined: no Temporal Web. */
  readonly uiPort?: number;
  /** Undefined: kept in memory. */
  readonly databaseFile?: string;
  readonly logFile: string;
}

export interface RunningTemporal {
  readonly process: ProcessId;
  readonly address: string;
  readonly ui: string | null;
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 15_000;

/** One user on one machine: the limits of a shared cluster would only slow it down. */
const DYNAMIC_CONFIG = {
  "system.enableEagerWorkflowStart": true,
  "system.enableActivityEagerExecution": true,
  "frontend.rps": 100_000,
  "frontend.namespaceRPS": 100_000,
  "frontend.namespaceRPS.visibility": 1_000,
  "frontend.namespaceCount": 10_000,
  "history.rps": 100_000,
  "matching.rps": 100_000,
  "matching.numTaskqueueReadPartitions": 1,
  "matching.numTaskqueueWritePartitions": 1,
};

/** Starts the dev server and waits until its namespace answers. */
export async function startTemporal(o: TemporalOptions): Promise<RunningTemporal> {
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
  args.push(...(o.uiPort === undefined ? ["--headless"] : ["--ui-port", String(o.uiPort)]));
  if (o.databaseFile !== undefined) args.push("--db-filename", o.databaseFile);
  for (const [key, value] of Object.entries(DYNAMIC_CONFIG))
    args.push("--dynamic-config-value", `${key}=${value}`);
  args.push("--log-level", "warn", "--ui-disable-news-fetch");
  const id = await spawnDetached({ command: o.binary, args, logFile: o.logFile });
  await waitUntilReady(id, o);
  return running(id, o.port, o.uiPort);
}

function running(id: ProcessId, port: number, uiPort: number | undefined): RunningTemporal {
  return {
    process: id,
    address: `127.0.0.1:${port}`,
    ui: uiPort === undefined ? null : `http://127.0.0.1:${uiPort}`,
    stop: async () => {
      await endProcess(id, "SIGINT", STOP_TIMEOUT_MS);
    },
  };
}

async function waitUntilReady(id: ProcessId, o: TemporalOptions): Promise<void> {
  const until = Date.now() + START_TIMEOUT_MS;
  while (!(await namespaceAnswers(`127.0.0.1:${o.port}`, 1_000))) {
    const over = Date.now() > until;
    if (isAlive(id) && !over) {
      await sleep(25);
      continue;
    }
    await endProcess(id, "SIGINT", 5_000);
    throw new Terminal(
      "temporal_failed",
      `embedded Temporal: ${over ? `no answer on port ${o.port}` : "ended while starting"}; see ${o.logFile}: ${lastLines(readFileSync(o.logFile, "utf8"))}`,
    );
  }
}

async function namespaceAnswers(address: string, timeoutMs: number): Promise<boolean> {
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ address, connectTimeout: timeoutMs });
    await connection.workflowService.describeNamespace({ namespace: "default" });
    return true;
  } catch {
    return false;
  } finally {
    await connection?.close();
  }
}

function lastLines(text: string): string {
  return text.trim().split("\n").slice(-3).join(" | ");
}
