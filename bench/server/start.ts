import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Connection } from "@temporalio/client";
import { msToTs } from "@temporalio/common/lib/time.js";
import { choosePort } from "../../platform/embedded/ports.ts";
import type { RunningPostgres } from "../../platform/embedded/postgres.ts";
import { endProcess, isAlive, type ProcessId, spawnDetached } from "../../platform/embedded/process.ts";
import { dynamicConfig, type Service, serverConfig, type ServicePorts, SERVICES } from "./config.ts";
import { built } from "./paths.ts";

export interface RunningServer {
  readonly process: ProcessId;
  readonly address: string;
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 90_000;
const STOP_TIMEOUT_MS = 20_000;
/** `temporal` and `temporal_visibility`, by the folder of their schema. */
const STORES = { temporal: "temporal", visibility: "temporal_visibility" };

/** Starts the built Temporal server on this Postgres, in one process, and waits until a namespace answers. */
export async function startServer(
  postgres: RunningPostgres,
  folder: string,
  namespace: string,
): Promise<RunningServer> {
  await postgres.createDatabases(Object.values(STORES));
  await Promise.all(
    Object.entries(STORES).map(([schema, database]) => setUpSchema(postgres, schema, database)),
  );
  mkdirSync(folder, { recursive: true });
  const ports = await servicePorts();
  const dynamicConfigFile = join(folder, "dynamic.yaml");
  writeFileSync(dynamicConfigFile, dynamicConfig());
  const configFile = join(folder, "server.yaml");
  // It holds the database's password.
  writeFileSync(configFile, serverConfig({ ports, postgres: connectionOf(postgres), dynamicConfigFile }), {
    mode: 0o600,
  });
  const logFile = join(folder, "temporal.log");
  const args = ["--config-file", configFile, "--allow-no-auth", "start"];
  const id = await spawnDetached({ command: built.server, args, logFile });
  const server: RunningServer = {
    process: id,
    address: `127.0.0.1:${ports.frontend.grpc}`,
    stop: async () => void (await endProcess(id, { signal: "SIGTERM", graceMs: STOP_TIMEOUT_MS })),
  };
  try {
    await waitUntilReady(server, namespace);
  } catch (cause) {
    await server.stop();
    throw new Error(
      `bench: the Temporal server did not start: ${(cause as Error).message}\n${lastWords(logFile)}`,
      { cause },
    );
  }
  return server;
}

/** Where the server finds its database, taken apart. */
function connectionOf(postgres: RunningPostgres) {
  const url = new URL(postgres.url("postgres"));
  return {
    host: url.hostname,
    port: postgres.port,
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
  };
}

async function setUpSchema(postgres: RunningPostgres, schema: string, database: string): Promise<void> {
  const { host, port, user, password } = connectionOf(postgres);
  const tool = (...command: string[]) =>
    promisify(execFile)(
      built.sqlTool,
      ["--pl", "postgres12", "--ep", host, "-p", `${port}`, "--db", database, ...command],
      {
        env: { ...process.env, SQL_USER: user, SQL_PASSWORD: password },
      },
    );
  await tool("setup-schema", "-v", "0.0");
  await tool("update-schema", "-d", join(built.schema, schema, "versioned"));
}

/** Below 32768, since the server stores its membership ports in a smallint; from a random base, since others start too. */
async function servicePorts(): Promise<Record<Service, ServicePorts>> {
  const taken: number[] = [];
  const base = 20_000 + Math.floor(Math.random() * 10_000);
  const wish = { what: "Temporal", setting: "", given: undefined };
  const next = async (): Promise<number> => {
    const port = await choosePort({ ...wish, fallback: base, taken });
    taken.push(port);
    return port;
  };
  const entries: [Service, ServicePorts][] = [];
  for (const service of SERVICES) {
    entries.push([service, { grpc: await next(), membership: await next() }]);
  }
  return Object.fromEntries(entries) as Record<Service, ServicePorts>;
}

/** Ready when matching answers for a queue of the namespace: by then every service knows both. */
async function waitUntilReady(server: RunningServer, namespace: string): Promise<void> {
  const until = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    try {
      return await registerAndProbe(server.address, namespace);
    } catch (error) {
      if (!isAlive(server.process)) throw new Error("it ended", { cause: error });
      if (Date.now() > until) throw error;
      await sleep(200);
    }
  }
}

async function registerAndProbe(address: string, namespace: string): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: 1_000 });
  try {
    const { workflowService } = connection;
    const known = await workflowService.describeNamespace({ namespace }).catch(() => null);
    if (!known) {
      const workflowExecutionRetentionPeriod = msToTs("72h");
      await workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod });
    }
    await workflowService.describeTaskQueue({ namespace, taskQueue: { name: "probe" } });
  } finally {
    await connection.close();
  }
}

/** The end of a log, without the stack traces that make its lines long. */
function lastWords(logFile: string): string {
  const lines = readFileSync(logFile, "utf8").trim().split("\n").slice(-5);
  return lines.map((line) => line.slice(0, 300)).join("\n");
}
