import { leftIn } from "./home.ts";
import { lockHolder } from "./lock.ts";
import { checkGivenPort } from "./ports.ts";

/** Which parts are embedded, and where. */
export interface GivenPorts {
  /** The data folder. */
  readonly home: string;
  readonly postgres: boolean;
  readonly temporal: boolean;
  /** A port given here is used or refused; without one the next free one from the default is taken. */
  readonly postgresPort?: number | undefined;
  readonly temporalPort?: number | undefined;
  readonly temporalUiPort?: number | undefined;
}

export const PORTS = {
  postgres: { what: "Postgres", fallback: 55_432, setting: "MERIDIAN_POSTGRES_PORT" },
  temporal: { what: "Temporal", fallback: 7_233, setting: "MERIDIAN_TEMPORAL_PORT" },
  temporalUi: { what: "Temporal Web", fallback: 8_233, setting: "MERIDIAN_TEMPORAL_UI_PORT" },
} as const;

/**
 * Before anything is made. A port that our own server still holds from before is no obstacle, and a Meridian that runs
 * from this folder is refused with other words.
 */
export async function checkGivenPorts(o: GivenPorts): Promise<void> {
  if (lockHolder(o.home) !== null) return;
  const postgres = o.postgres ? leftIn(o.home, "postgres") : null;
  const temporal = o.temporal ? leftIn(o.home, "temporal") : null;
  const held = [postgres?.port, temporal?.port, temporal?.uiPort];
  const taken: number[] = [];
  const check = async (
    wish: (typeof PORTS)[keyof typeof PORTS],
    given: number | undefined,
  ): Promise<void> => {
    if (given !== undefined && !held.includes(given)) await checkGivenPort({ ...wish, given, taken });
    if (given !== undefined) taken.push(given);
  };
  if (o.postgres) await check(PORTS.postgres, o.postgresPort);
  if (!o.temporal) return;
  await check(PORTS.temporal, o.temporalPort);
  await check(PORTS.temporalUi, o.temporalUiPort);
}
