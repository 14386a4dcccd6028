import type { Client } from "@temporalio/client";
import type { Config } from "../platform/config.ts";
import { ensureSearchAttributes } from "../platform/search-attributes.ts";
import { ensureClockSchedules } from "../schedules/clock-schedules.ts";

/** What Meridian needs of a Temporal namespace: search attributes and clock Schedules. Idempotent, anywhere. */
export async function setUpTemporal(temporal: Client, config: Config): Promise<void> {
  await ensureSearchAttributes(temporal, config.temporalNamespace);
  await ensureClockSchedules(temporal, config.taskQueue, config.clockShards);
}
