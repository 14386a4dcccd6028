import { realpathSync } from "node:fs";
import { join } from "node:path";
import { MeridianError, Terminal } from "../../core/errors.ts";
import { checkGivenPorts, PORTS, type GivenPorts } from "./given-ports.ts";
import { type Home, dataPath, endLeft, openHome, readLive } from "./home.ts";
import { lockHolder } from "./lock.ts";
import { choosePort } from "./ports.ts";
import { type RunningPostgres, adoptPostgres, postgresUrl, startPostgres } from "./postgres.ts";
import { hasData } from "./postgres-data.ts";
import { Supervisor } from "./supervisor.ts";
import { findTemporalBinary } from "./temporal-binary.ts";
import { type RunningTemporal, adoptTemporal, startTemporal } from "./temporal.ts";

export interface EmbeddedOptions extends GivenPorts {
  readonly databases: readonly string[];
  /** Where TEMPORAL_CLI_PATH and PATH are looked up. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  readonly log: (line: string) => void;
}

export interface Embedded {
  databaseUrl(database: string): string | null;
  readonly temporalAddress: string | null;
  readonly temporalUi: string | null;
  /** Makes the page's address known to a second start, which names it in its refusal. */
  announcePage(url: string): void;
  /** Ends Temporal, then Postgres, then frees the data folder. */
  stop(): Promise<void>;
}

/** What another process may know of a running Meridian. */
export interface RunningMeridian {
  readonly pid: number;
  readonly page: string | null;
  databaseUrl(database: string): string | null;
  readonly temporalAddress: string | null;
  readonly temporalUi: string | null;
}

const PORT_TRIES = 3;

/** Takes the data folder, starts the parts asked for (both at once) or adopts what a killed start left. */
export async function startEmbedded(o: EmbeddedOptions): Promise<Embedded> {
  await checkGivenPorts(o);
  const home = openHome(o.home);
  const [postgres, temporal] = await Promise.allSettled([postgresPart(home, o), temporalPart(home, o)]);
  const stop = async () => {
    if (temporal.status === "fulfilled") await temporal.value?.stop();
    home.forget("temporal");
    if (postgres.status === "fulfilled") await postgres.value?.stop();
    home.forget("postgres");
    home.release();
  };
  for (const part of [postgres, temporal]) {
    if (part.status === "fulfilled") continue;
    await stop();
    throw part.reason;
  }
  let stopping: Promise<void> | undefined;
  const [database, server] = [valueOf(postgres), valueOf(temporal)];
  return {
    databaseUrl: (name) => database?.current.url(name) ?? null,
    temporalAddress: server?.current.address ?? null,
    temporalUi: server?.current.ui ?? null,
    announcePage: (url) => home.announce(url),
    stop: () => (stopping ??= stop()),
  };
}

/** The Meridian that runs from this data folder now, or null. */
export function findRunning(home: string): RunningMeridian | null {
  const holder = lockHolder(home);
  if (holder === null) return null;
  const folder = realpathSync(home);
  const [postgres, temporal] = [readLive(folder, "postgres"), readLive(folder, "temporal")];
  return {
    pid: holder.pid,
    page: holder.page,
    databaseUrl: (name) => (postgres ? postgresUrl(join(folder, "postgres"), postgres.port, name) : null),
    temporalAddress: temporal ? `127.0.0.1:${temporal.port}` : null,
    temporalUi: temporal?.uiPort === undefined ? null : `http://127.0.0.1:${temporal.uiPort}`,
  };
}

function valueOf<T>(result: PromiseSettledResult<T>): T | null {
  return result.status === "fulfilled" ? result.value : null;
}

async function postgresPart(home: Home, o: EmbeddedOptions): Promise<Supervisor<RunningPostgres> | null> {
  const adopted = o.postgres ? await adoptOldPostgres(home, o) : null;
  if (adopted === null) await endLeft(home, "postgres");
  if (!o.postgres) return null;
  const startOn = (port: number) =>
    startPostgres({
      folder: home.path("postgres"),
      port,
      logFile: home.path("logs", "postgres.log"),
      onSpawn: (id) => home.record("postgres", { ...id, port, data: dataPath(home.folder, "postgres") }),
    });
  const choose = () => choosePort({ ...PORTS.postgres, given: o.postgresPort, log: o.log });
  const first = adopted ?? (await onFreePort(async () => startOn(await choose())));
  try {
    await first.createDatabases(o.databases);
  } catch (error) {
    await first.stop();
    throw error;
  }
  const again = () => {
    // Never a new and empty database in the place of one that was removed under us.
    if (hasData(dataPath(home.folder, "postgres"))) return startOn(first.port);
    throw new Terminal(
      "data_removed",
      `${home.folder} was removed while Meridian ran; stop and start it again`,
    );
  };
  return new Supervisor("Postgres", first, async () => again(), o.log);
}

async function adoptOldPostgres(home: Home, o: EmbeddedOptions): Promise<RunningPostgres | null> {
  const left = home.left("postgres");
  if (left === null || (o.postgresPort ?? left.port) !== left.port) return null;
  const adopted = await adoptPostgres(home.path("postgres"), left);
  if (adopted !== null) {
    home.record("postgres", left);
    o.log(`Postgres: still running from before (pid ${left.pid}, port ${left.port}), taken over`);
  }
  return adopted;
}

async function temporalPart(home: Home, o: EmbeddedOptions): Promise<Supervisor<RunningTemporal> | null> {
  const adopted = o.temporal ? await adoptOldTemporal(home, o) : null;
  if (adopted === null) await endLeft(home, "temporal");
  if (!o.temporal) return null;
  const databaseFile = dataPath(home.folder, "temporal");
  const startOn = async (port: number, uiPort: number) =>
    startTemporal({
      binary: await findTemporalBinary({ env: o.env ?? {}, otherCache: home.path("programs"), log: o.log }),
      port,
      uiPort,
      databaseFile,
      logFile: home.path("logs", "temporal.log"),
      onSpawn: (id) => home.record("temporal", { ...id, port, uiPort, data: databaseFile }),
    });
  const choose = async () => {
    const port = await choosePort({ ...PORTS.temporal, given: o.temporalPort, log: o.log });
    const ui = { ...PORTS.temporalUi, given: o.temporalUiPort, taken: [port], log: o.log };
    return [port, await choosePort(ui)] as const;
  };
  const first = adopted ?? (await onFreePort(async () => startOn(...(await choose()))));
  const uiPort = Number(new URL(first.ui ?? `http://127.0.0.1:${PORTS.temporalUi.fallback}`).port);
  return new Supervisor("Temporal", first, () => startOn(first.port, uiPort), o.log);
}

async function adoptOldTemporal(home: Home, o: EmbeddedOptions): Promise<RunningTemporal | null> {
  const left = home.left("temporal");
  if (left === null) return null;
  const samePorts =
    (o.temporalPort ?? left.port) === left.port && (o.temporalUiPort ?? left.uiPort) === left.uiPort;
  const adopted = samePorts ? await adoptTemporal(left) : null;
  if (adopted !== null) {
    o.log(`Temporal: still running from before (pid ${left.pid}, port ${left.port}), taken over`);
  }
  return adopted;
}

/** Another program may take a port between our look and the server's: then look again. */
async function onFreePort<T>(start: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start();
    } catch (error) {
      const taken = error instanceof MeridianError && error.code === "port_taken";
      if (!taken || attempt === PORT_TRIES) throw error;
    }
  }
}
