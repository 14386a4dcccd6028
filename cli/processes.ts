import { migrate, SCHEMA_VERSION } from "../db/migrate.ts";
import type { Config } from "../platform/config.ts";
import { Life, untilKilled } from "../platform/life.ts";
import { createLog } from "../platform/log.ts";
import {
  dueCreator,
  remoteStarter,
  startApiPart,
  startProcessorPart,
  startWorkerPart,
  type Shared,
} from "./parts.ts";
import { checkAddresses, openCheckedPool, openLogs, openPool, openTemporal } from "./resources.ts";
import { setUpTemporal } from "./setup.ts";

/** Each process has one shape: config → resources → services → run until killed. Several of each may run. */
async function process_(
  name: string,
  config: Config,
  body: (shared: Shared) => Promise<string>,
): Promise<void> {
  const log = createLog(config.logLevel, name);
  checkAddresses(config);
  const life = new Life(log);
  const killed = untilKilled((signal) => log.info(`${signal}: stopping`));
  try {
    const pool = await openCheckedPool(config, life, log, name);
    log.info(await body({ config, pool, logs: openLogs(config, life), log, life }));
    await killed;
  } finally {
    await life.end();
  }
  log.info("stopped");
}

export async function runWorker(config: Config): Promise<void> {
  await process_("worker", config, async (shared) => {
    await startWorkerPart(shared);
    return `worker for ${config.queues.join(", ")} is running`;
  });
}

export async function runApi(config: Config): Promise<void> {
  await process_("api", config, async (shared) => {
    const temporal = await openTemporal(config, shared.life);
    const starter = remoteStarter(shared, temporal);
    const api = await startApiPart(shared, starter, dueCreator(shared, starter), { temporalUi: null });
    return `API and page at ${api.url}`;
  });
}

export async function runProcessor(config: Config): Promise<void> {
  await process_("processor", config, async (shared) => {
    const temporal = await openTemporal(config, shared.life);
    await startProcessorPart(shared, dueCreator(shared, remoteStarter(shared, temporal)));
    return `watching ${config.dags}`;
  });
}

export async function runSetup(config: Config): Promise<void> {
  const life = new Life(createLog(config.logLevel, "setup"));
  try {
    await setUpTemporal(await openTemporal(config, life), config);
    console.log(`search attributes and ${config.clockShards} clock Schedule(s) are in place`);
  } finally {
    await life.end();
  }
}

export async function migrateDatabase(config: Config): Promise<void> {
  const log = createLog(config.logLevel, "migrate");
  const life = new Life(log);
  try {
    const applied = await migrate(await openPool(config, life, log, "migrate", null));
    console.log(
      applied.length === 0
        ? `the schema is at version ${SCHEMA_VERSION} already`
        : `applied ${applied.join(", ")}; the schema is at version ${SCHEMA_VERSION}`,
    );
  } finally {
    await life.end();
  }
}
