import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../platform/embedded/ports.ts";
import { startPostgres } from "../../platform/embedded/postgres.ts";
import { startTemporal } from "../../platform/embedded/temporal.ts";
import { findTemporalBinary } from "../../platform/embedded/temporal-binary.ts";

export interface TestServers {
  /** Points at the maintenance database `postgres`; its user may create databases. */
  readonly databaseUrl: string;
  readonly temporalAddress: string;
  stop(): Promise<void>;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Given servers (MERIDIAN_TEST_DATABASE_URL, MERIDIAN_TEST_TEMPORAL_ADDRESS) or throw-away ones. */
export async function startTestServers(env: Env = process.env): Promise<TestServers> {
  const folder = mkdtempSync(join(tmpdir(), "meridian-test-"));
  const [postgres, temporal] = await Promise.all([testPostgres(env, folder), testTemporal(env, folder)]);
  return {
    databaseUrl: postgres.url,
    temporalAddress: temporal.address,
    stop: async () => {
      await Promise.all([postgres.stop(), temporal.stop()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function testPostgres(env: Env, folder: string) {
  const given = env["MERIDIAN_TEST_DATABASE_URL"];
  if (given) return { url: given, stop: async () => {} };
  const postgres = await startPostgres({
    folder: join(folder, "postgres"),
    port: await freePort(),
    logFile: join(folder, "postgres.log"),
    settings: ["fsync=off", "full_page_writes=off", "synchronous_commit=off"],
  });
  return { url: postgres.url("postgres"), stop: () => postgres.stop() };
}

async function testTemporal(env: Env, folder: string) {
  const given = env["MERIDIAN_TEST_TEMPORAL_ADDRESS"];
  if (given) return { address: given, stop: async () => {} };
  const temporal = await startTemporal({
    binary: findTemporalBinary(env),
    port: await freePort(),
    logFile: join(folder, "temporal.log"),
  });
  return { address: temporal.address, stop: () => temporal.stop() };
}
