import { join } from "node:path";
import { choosePort } from "./ports.ts";
import { startPostgres } from "./postgres.ts";
import { startTemporal } from "./temporal.ts";
import { findTemporalBinary } from "./temporal-binary.ts";

export interface EmbeddedOptions {
  readonly home: string;
  readonly postgres: boolean;
  readonly temporal: boolean;
  readonly postgresPort?: number | undefined;
  readonly temporalPort?: number | undefined;
  readonly temporalUiPort?: number | undefined;
  readonly databases: readonly string[];
  /** Where TEMPORAL_CLI_PATH and PATH are looked up. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  log(line: string): void;
}

export interface Embedded {
  databaseUrl(database: string): string | null;
  readonly temporalAddress: string | null;
  readonly temporalUi: string | null;
  stop(): Promise<void>;
}

/** Starts the parts asked for, both at once, and gives their addresses. */
export async function startEmbedded(o: EmbeddedOptions): Promise<Embedded> {
  const [postgres, temporal] = await Promise.all([
    o.postgres ? postgresPart(o) : null,
    o.temporal ? temporalPart(o) : null,
  ]);
  return {
    databaseUrl: (database) => postgres?.url(database) ?? null,
    temporalAddress: temporal?.address ?? null,
    temporalUi: temporal?.ui ?? null,
    stop: async () => {
      await temporal?.stop();
      await postgres?.stop();
    },
  };
}

async function postgresPart(o: EmbeddedOptions) {
  const port = await choosePort({ what: "Postgres", fallback: 55432, given: o.postgresPort });
  const postgres = await startPostgres({
    folder: join(o.home, "postgres"),
    port,
    logFile: join(o.home, "logs", "postgres.log"),
  });
  await postgres.createDatabases(o.databases);
  return postgres;
}

async function temporalPart(o: EmbeddedOptions) {
  const port = await choosePort({ what: "Temporal", fallback: 7233, given: o.temporalPort });
  const uiPort = await choosePort({
    what: "Temporal Web",
    fallback: 8233,
    given: o.temporalUiPort,
    taken: [port],
  });
  return startTemporal({
    binary: findTemporalBinary(o.env ?? {}),
    port,
    uiPort,
    databaseFile: join(o.home, "temporal.db"),
    logFile: join(o.home, "logs", "temporal.log"),
  });
}
