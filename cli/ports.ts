import { resolve } from "node:path";
import { Refused } from "../core/errors.ts";
import type { Config } from "../platform/config.ts";
import { checkGivenPorts, type GivenPorts } from "../platform/embedded/given-ports.ts";
import { lockHolder } from "../platform/embedded/lock.ts";
import { whyNot } from "../platform/embedded/ports.ts";

/** What `start` embeds. */
export const embeddedParts = (config: Config): GivenPorts => ({
  home: resolve(config.home),
  postgres: config.databaseUrl === undefined,
  temporal: config.temporalAddress === undefined,
  postgresPort: config.postgresPort,
  temporalPort: config.temporalPort,
  temporalUiPort: config.temporalUiPort,
});

/**
 * Refuses ports that were set and are taken, before `start` is even loaded and anything made. Not while a Meridian runs
 * from this folder, which holds them itself: that is refused with other words.
 */
export async function refuseTakenPorts(config: Config): Promise<void> {
  if (lockHolder(resolve(config.home)) !== null) return;
  if (config.port !== undefined) await pagePort(config);
  await checkGivenPorts(embeddedParts(config));
}

/** A default port that is taken gives the next free one; one given explicitly must be free. */
export async function pagePort({ host, port: given }: Pick<Config, "host" | "port">): Promise<number> {
  if (given !== undefined) {
    if ((await whyNot(given, host)) === null) return given;
    throw new Refused(
      "port_taken",
      `port ${given} is taken on ${host}: end what listens there, or set MERIDIAN_PORT to another`,
    );
  }
  for (let port = 8080; port < 8180; port++) if ((await whyNot(port, host)) === null) return port;
  throw new Refused(
    "port_taken",
    `ports 8080 to 8179 are all taken on ${host}: set MERIDIAN_PORT to a free one`,
  );
}
