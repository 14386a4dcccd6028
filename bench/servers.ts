import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../platform/embedded/ports.ts";
import { type RunningPostgres, startPostgres } from "../platform/embedded/postgres.ts";
import { findTemporalBinary } from "../platform/embedded/temporal-binary.ts";
import { startTemporal } from "../platform/embedded/temporal.ts";
import { dataParent } from "./server/paths.ts";
import { startServer } from "./server/start.ts";

/** The Temporal server a figure was measured on: the command's dev server (SQLite), or the real one on Postgres. */
export type ServerKind = "dev" | "postgres";

export const NAMESPACE = "default";

/** One Temporal server and one Postgres, fresh, shared by all contestants of an invocation. */
export interface Servers {
  readonly kind: ServerKind;
  readonly temporalAddress: string;
  /** Server and database; their children count as theirs. */
  readonly pids: readonly number[];
  databaseUrl(name: string): string;
  createDatabases(names: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

/** Starts both in a data folder of their own, which `stop` removes. */
export async function startServers(kind: ServerKind): Promise<Servers> {
  mkdirSync(dataParent, { recursive: true });
  const home = mkdtempSync(join(dataParent, `${kind}-`));
  const undo: (() => Promise<unknown>)[] = [
    () => Promise.resolve(rmSync(home, { recursive: true, force: true })),
  ];
  const stop = async () => {
    for (const step of undo.splice(0).toReversed()) await step();
  };
  try {
    const postgres = await startPostgresIn(home);
    undo.push(() => postgres.stop());
    const temporal = await (kind === "dev"
      ? startDev(home)
      : startServer(postgres, join(home, "temporal"), NAMESPACE));
    undo.push(() => temporal.stop());
    return {
      kind,
      temporalAddress: temporal.address,
      pids: [postgres.process.pid, temporal.process.pid],
      databaseUrl: (name) => postgres.url(name),
      createDatabases: (names) => postgres.createDatabases(names),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A PostgreSQL with its data and log under `home`. */
export async function startPostgresIn(home: string): Promise<RunningPostgres> {
  return startPostgres({
    folder: join(home, "postgres"),
    port: await freePort(),
    logFile: join(home, "postgres.log"),
  });
}

async function startDev(home: string) {
  return startTemporal({
    binary: await findTemporalBinary({ env: process.env }),
    port: await freePort(),
    databaseFile: join(home, "temporal.db"),
    logFile: join(home, "temporal.log"),
  });
}
