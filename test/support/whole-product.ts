/** `meridian start` as a person starts it, on the test servers: a process of its own, its folder, its namespace. */
import { randomUUID } from "node:crypto";
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@temporalio/client";
import type pg from "pg";
import { inject } from "vitest";
import { freePort } from "../../platform/embedded/ports.ts";
import { readConfig } from "../../platform/config.ts";
import { connectClient } from "../../platform/temporal.ts";
import { buildIfStale } from "../../web/build-if-stale.ts";
import { createTestDatabase } from "./database.ts";
import { startProcess } from "./processes.ts";
import { ROOT, until } from "./product.ts";

export interface WholeProduct {
  readonly url: string;
  readonly temporalUi: string;
  readonly namespace: string;
  readonly temporal: Client;
  readonly pool: pg.Pool;
  /** What the process has printed. */
  output(): string;
  /** Writes, or with null removes, a file of the DAG folder; not awaited by anybody but who watches. */
  write(file: string, text: string | null): void;
  /** A command of `meridian` beside it, in the same data folder. */
  meridian(args: readonly string[], env?: Record<string, string>): Promise<Answer>;
  /** Ctrl-C; answers the exit code. */
  interrupt(): Promise<number | null>;
  stop(): Promise<void>;
}

interface Answer {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const TEMPORAL_UI = "http://127.0.0.1:8233";

/** The DAG folder is a copy of the examples, so that a test may break it. */
export async function startWholeProduct(command: "start" | "dev" = "start"): Promise<WholeProduct> {
  const name = `page-${randomUUID().slice(0, 8)}`;
  const home = join(ROOT, ".meridian", name);
  const dags = join(home, "dags");
  mkdirSync(home, { recursive: true });
  cpSync(join(ROOT, "dags"), dags, { recursive: true });
  const [database, weather] = [await createTestDatabase("page"), await createTestDatabase("weather")];
  await buildIfStale();
  const namespace = await makeNamespace(name);
  const port = await freePort();
  const env: Record<string, string> = {
    MERIDIAN_HOME: home,
    MERIDIAN_DAGS: dags,
    MERIDIAN_PORT: String(port),
    MERIDIAN_CONN_WEATHER: weather.url,
    MERIDIAN_DRAIN_MS: "2000",
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: inject("temporalAddress"),
    TEMPORAL_NAMESPACE: namespace,
    TEMPORAL_UI_URL: TEMPORAL_UI,
  };
  const started = await startProcess([command], env, /Ready after/);
  const temporal = await connectClient(readConfig(env), env["TEMPORAL_ADDRESS"]!);
  const ended = new Promise<number | null>((done) => started.child.once("exit", (code) => done(code)));
  return {
    url: `http://127.0.0.1:${port}`,
    temporalUi: TEMPORAL_UI,
    namespace,
    temporal,
    pool: database.pool,
    output: started.output,
    write: (file, text) => {
      if (text === null) rmSync(join(dags, file));
      else writeFileSync(join(dags, file), text);
    },
    meridian: async (args, more = {}) => await meridian(args, { ...env, ...more }),
    interrupt: async () => {
      started.child.kill("SIGINT");
      return await ended;
    },
    stop: async () => {
      if (started.child.exitCode === null) await started.kill("SIGTERM");
      await temporal.connection.close();
      await Promise.all([database.drop(), weather.drop()]);
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** The examples' workflow ids are the same everywhere: only a namespace keeps tests apart. */
async function makeNamespace(name: string): Promise<string> {
  const config = readConfig({ TEMPORAL_NAMESPACE: name });
  const { connection, workflowService } = await connectClient(config, inject("temporalAddress"));
  try {
    await workflowService.registerNamespace({
      namespace: name,
      workflowExecutionRetentionPeriod: { seconds: 86_400 as unknown as Long },
    });
    // The server's parts learn of it one after the other.
    await until(async () => {
      const request = { namespace: name, execution: { workflowId: "none" } };
      const answer = await workflowService
        .describeWorkflowExecution(request)
        .catch((error: Error) => error.message);
      return typeof answer === "string" && /workflow not found/i.test(answer) ? true : null;
    });
  } finally {
    await connection.close();
  }
  return name;
}

type Long = NonNullable<
  NonNullable<
    Parameters<Client["workflowService"]["registerNamespace"]>[0]["workflowExecutionRetentionPeriod"]
  >["seconds"]
>;

async function meridian(args: readonly string[], env: Record<string, string>): Promise<Answer> {
  const child = spawn(process.execPath, [join(ROOT, "cli/meridian.mjs"), ...args], {
    cwd: ROOT,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const code = await new Promise<number | null>((done) => child.once("close", done));
  return { code, stdout, stderr };
}
