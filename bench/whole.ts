/** The whole product as `npm start` makes it, over servers of a bench. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Client, Connection } from "@temporalio/client";
import type pg from "pg";
import { migrate } from "../db/migrate.ts";
import { freePort } from "../platform/embedded/ports.ts";
import { createPool } from "../platform/pg.ts";
import { NAMESPACE, startServers, type ServerKind, type Servers } from "./servers.ts";
import type { undoAtEnd } from "./undo.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const LONGEST_MS = 600_000;

type Undo = ReturnType<typeof undoAtEnd>;

export interface Whole {
  /** Of the API. */
  readonly url: string;
  readonly pool: pg.Pool;
  readonly temporal: Client;
  readonly pid: number;
  readonly servers: Servers;
}

export interface WholeOptions {
  readonly home: string;
  readonly server: ServerKind;
  /** Texts of DAG files, by name. */
  readonly dags: Readonly<Record<string, string>>;
  /** DAGs that they define. */
  readonly count: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** Resolves when the DAGs are stored; all of it ends with `undo`. */
export async function startWhole(undo: Undo, options: WholeOptions): Promise<Whole> {
  const { home, server, dags, count, env } = options;
  const folder = join(home, "dags");
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(dags)) writeFileSync(join(folder, name), text);
  const servers = await startServers(server);
  undo.add(() => servers.stop());
  await servers.createDatabases(["whole"]);
  const databaseUrl = servers.databaseUrl("whole");
  const pool = createPool({ url: databaseUrl, max: 4, applicationName: "bench" }, () => {});
  undo.add(() => pool.end());
  await migrate(pool);
  const connection = await Connection.connect({ address: servers.temporalAddress });
  undo.add(() => connection.close());
  const port = await freePort();
  const product = spawn(process.execPath, ["cli/meridian.mjs", "start"], {
    cwd: ROOT,
    env: {
      ...process.env,
      MERIDIAN_HOME: home,
      MERIDIAN_DAGS: folder,
      MERIDIAN_PORT: String(port),
      DATABASE_URL: databaseUrl,
      TEMPORAL_ADDRESS: servers.temporalAddress,
      ...env,
    },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = once(product, "exit");
  undo.add(async () => {
    if (product.exitCode === null && product.signalCode === null) product.kill("SIGTERM");
    await ended;
  });
  const url = `http://127.0.0.1:${port}/api/v1`;
  await until(
    undo,
    async () => ((await (await fetch(`${url}/dags?limit=1`)).json()) as { total: number }).total === count,
  );
  return {
    url,
    pool,
    temporal: new Client({ connection, namespace: NAMESPACE }),
    pid: product.pid!,
    servers,
  };
}

export async function trigger(url: string, dagId: string): Promise<{ runId: string }> {
  const answer = await fetch(`${url}/dags/${dagId}/runs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  if (!answer.ok) throw new Error(`bench: trigger answered ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as { runId: string };
}

/** What throws is not there yet. */
export async function until(undo: Undo, check: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + LONGEST_MS; performance.now() < end; await sleep(50)) {
    if (undo.interrupted) throw new Error("bench: interrupted");
    if (await check().catch(() => false)) return;
  }
  throw new Error(`bench: nothing within ${LONGEST_MS / 1000} s`);
}
