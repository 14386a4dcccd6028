import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Home, MARKER, dataPath, openHome, reset } from "../../platform/embedded/home.ts";
import { lockHolder } from "../../platform/embedded/lock.ts";
import { freePort } from "../../platform/embedded/ports.ts";
import { type ProcessId, endProcess } from "../../platform/embedded/process.ts";
import { startPostgres } from "../../platform/embedded/postgres.ts";
import { findTemporalBinary } from "../../platform/embedded/temporal-binary.ts";
import { startTemporal } from "../../platform/embedded/temporal.ts";

export interface TestServers {
  /** Points at the maintenance database `postgres`; its user may create databases. */
  readonly databaseUrl: string;
  readonly temporalAddress: string;
  /** Holds all they write; removed at the end. */
  readonly folder: string;
  stop(): Promise<void>;
}

type Env = Readonly<Record<string, string | undefined>>;

const PREFIX = "meridian-test-";

/** Given servers (MERIDIAN_TEST_DATABASE_URL, MERIDIAN_TEST_TEMPORAL_ADDRESS) or throw-away ones. */
export async function startTestServers(env: Env = process.env): Promise<TestServers> {
  await sweepKilledRuns();
  const home = openHome(mkdtempSync(join(tmpdir(), PREFIX)));
  const [postgres, temporal] = await Promise.allSettled([testPostgres(env, home), testTemporal(env, home)]);
  const stop = async () => {
    for (const part of [temporal, postgres]) if (part.status === "fulfilled") await part.value.stop();
    rmSync(home.folder, { recursive: true, force: true, maxRetries: 3 });
  };
  if (postgres.status === "fulfilled" && temporal.status === "fulfilled") {
    return {
      databaseUrl: postgres.value.url,
      temporalAddress: temporal.value.address,
      folder: home.folder,
      stop,
    };
  }
  await stop();
  throw postgres.status === "rejected" ? postgres.reason : (temporal as PromiseRejectedResult).reason;
}

/** A test run that was killed leaves its servers running: the next one ends them. */
async function sweepKilledRuns(): Promise<void> {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(PREFIX))) {
    const folder = join(tmpdir(), name);
    try {
      // Without the marker it is being made at this moment.
      if (!existsSync(join(folder, MARKER)) || lockHolder(folder) !== null) continue;
      await reset(folder);
      rmSync(folder, { recursive: true, force: true });
    } catch {
      // Another user's, or one that another run sweeps at this moment.
    }
  }
}

async function testPostgres(env: Env, home: Home) {
  const given = env["MERIDIAN_TEST_DATABASE_URL"];
  if (given) return { url: given, stop: async () => {} };
  const port = await freePort();
  const postgres = await startPostgres({
    folder: home.path("postgres"),
    port,
    logFile: home.path("logs", "postgres.log"),
    throwAway: true,
    onSpawn: (id) => home.record("postgres", { ...id, port, data: dataPath(home.folder, "postgres") }),
  });
  return { url: postgres.url("postgres"), stop: () => drop(postgres.process) };
}

async function testTemporal(env: Env, home: Home) {
  const given = env["MERIDIAN_TEST_TEMPORAL_ADDRESS"];
  if (given) return { address: given, stop: async () => {} };
  const port = await freePort();
  const temporal = await startTemporal({
    binary: await findTemporalBinary({ env, otherCache: home.path("programs") }),
    port,
    logFile: home.path("logs", "temporal.log"),
    onSpawn: (id) => home.record("temporal", { ...id, port, data: dataPath(home.folder, "temporal") }),
  });
  return { address: temporal.address, stop: () => drop(temporal.process) };
}

/** Nobody will read the data again, so there is nothing to wait for. Postgres's children follow at once. */
async function drop(id: ProcessId): Promise<void> {
  await endProcess(id, { signal: "SIGQUIT", graceMs: 2_000 });
}
