import { resolve } from "node:path";
import { migrate } from "../db/migrate.ts";
import type { Config } from "../platform/config.ts";
import { startEmbedded, type Embedded } from "../platform/embedded/index.ts";
import { Life, untilKilled } from "../platform/life.ts";
import { createLog } from "../platform/log.ts";
import { buildApart } from "./build-apart.ts";
import { createDevVoice, createPlainVoice } from "./dev.ts";
import { buildClient } from "./package-build.ts";
import { checkDagFolder, startApiPart, startProcessorPart, startWorkerPart, type Shared } from "./parts.ts";
import { embeddedParts } from "./ports.ts";
import { resetCommand } from "./reset.ts";
import { openLogs, openPool, openTemporal } from "./resources.ts";
import { setUpTemporal } from "./setup.ts";
import { VERSION } from "./version.ts";

export interface StartOptions {
  /** Each save is told on the terminal: what it changed, or why it cannot be used. */
  readonly dev?: boolean;
}

/** The whole product in one command: embedded servers (unless addresses are given), worker, processor, API, page. */
export async function start(given: Config, { dev = false }: StartOptions = {}): Promise<void> {
  const began = Date.now();
  const say = (line: string): void => console.log(line);
  const log = createLog(given.logLevel === "info" ? "warn" : given.logLevel, "meridian");
  const life = new Life(log);
  checkDagFolder(given);
  say(`Meridian ${VERSION} is starting …`);
  let isAsked = false;
  const stopped = untilKilled((signal) => {
    isAsked = true;
    say(`\n${signal}: stopping; tries in flight get ${given.drainMs / 1000} s (again to end at once)`);
  });
  /** Who stops it while it starts need not wait for the rest of the start. */
  const goOn = (): void => {
    if (isAsked) throw new Error("stopped while it started");
  };
  try {
    const building = [buildApart(life, say), buildClient()];
    for (const build of building) build.catch(() => undefined);
    const embedded = await startEmbeddedParts(given, say);
    life.onEnd("embedded servers", async () => await embedded.stop());
    goOn();
    const config = withEmbedded(given, embedded);
    const pool = await openPool(config, life, log, "start");
    await migrate(pool);
    await setUpTemporal(await openTemporal(config, life), config);
    await Promise.all(building);
    goOn();

    const shared: Shared = { config, pool, logs: openLogs(config, life), log, life };
    const worker = await startWorkerPart(shared);
    const createDue = async (dagIds: readonly string[]) => await worker.createDue(dagIds);
    const api = await startApiPart(shared, worker.starter, createDue, {
      temporalUi: embedded.temporalUi,
    });
    embedded.announcePage(api.url);
    if (config.apiUrl === undefined) worker.addresses.reachedAt(api.url);
    const voice = (dev ? createDevVoice : createPlainVoice)({
      db: pool,
      folder: config.dags,
      log,
      print: say,
    });
    life.onEnd("dev", () => voice.end());
    await startProcessorPart(shared, createDue, voice);
    voice.begin();
    // Whatever came due while nothing ran; nobody waits for the next minute.
    await worker.createDue();
    say(`
  The grid      ${api.url}
  Temporal Web  ${config.temporalUi ?? embedded.temporalUi ?? "(set TEMPORAL_UI_URL)"}
  DAG files     ${resolve(config.dags)}  (saved files are picked up)
  Data          ${resolve(config.home)}  (${resetCommand(given.home, given.env)} empties it)

Ready after ${((Date.now() - began) / 1000).toFixed(1)} s. Ctrl-C stops everything in order.`);
    await stopped;
  } catch (error) {
    // What was cut short by the stop is no failure.
    if (!isAsked) throw error;
    log.debug({ err: error }, "stopped");
  } finally {
    await life.end();
  }
  say("Stopped. The next start finds its data.");
}

async function startEmbeddedParts(config: Config, log: (line: string) => void): Promise<Embedded> {
  return await startEmbedded({
    ...embeddedParts(config),
    databases: ["meridian", "weather"],
    env: config.env,
    log,
  });
}

/** The embedded addresses take the places of those not given; the example's connection is among them. */
function withEmbedded(config: Config, embedded: Embedded): Config {
  const databaseUrl = config.databaseUrl ?? embedded.databaseUrl("meridian") ?? undefined;
  const weather = embedded.databaseUrl("weather");
  return {
    ...config,
    databaseUrl,
    temporalAddress: config.temporalAddress ?? embedded.temporalAddress ?? undefined,
    connections: { ...(weather === null ? {} : { weather }), ...config.connections },
  };
}
