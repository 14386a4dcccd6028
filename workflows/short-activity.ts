import { isCancellation, proxyActivities, proxyLocalActivities } from "@temporalio/workflow";
import type { RunActivities } from "../activities/types.ts";

/**
 * The short activities of a run: local, so that they cost no round trip to the server; three attempts of 2 s. When
 * those fail (the database is away) the same call goes on as an ordinary activity that retries for ever, since
 * retrying locally keeps making workflow tasks and holds up signals.
 */
const local = proxyLocalActivities<RunActivities>({
  startToCloseTimeout: "2s",
  retry: { maximumAttempts: 3, initialInterval: "100ms", backoffCoefficient: 2 },
});
const patient = proxyActivities<RunActivities>({
  startToCloseTimeout: "30s",
  retry: { initialInterval: "500ms", backoffCoefficient: 1.5, maximumInterval: "5s" },
});

export const short: RunActivities = {
  openRun: async (run) => await orPatient(() => local.openRun(run), () => patient.openRun(run)),
  advance: async (input) => await orPatient(() => local.advance(input), () => patient.advance(input)),
  closeRun: async (input) => await orPatient(() => local.closeRun(input), () => patient.closeRun(input)),
};

async function orPatient<T>(first: () => Promise<T>, then: () => Promise<T>): Promise<T> {
  try {
    return await first();
  } catch (error) {
    if (isCancellation(error)) throw error;
    return await then();
  }
}
