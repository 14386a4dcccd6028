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
  openRun: (run) => local.openRun(run).catch(orElse(() => patient.openRun(run))),
  readGraph: (version) => local.readGraph(version).catch(orElse(() => patient.readGraph(version))),
  openVersion: (input) => local.openVersion(input).catch(orElse(() => patient.openVersion(input))),
  advance: (input) => local.advance(input).catch(orElse(() => patient.advance(input))),
  closeRun: (input) => local.closeRun(input).catch(orElse(() => patient.closeRun(input))),
  reopenRun: (input) => local.reopenRun(input).catch(orElse(() => patient.reopenRun(input))),
  resumeRun: (run) => local.resumeRun(run).catch(orElse(() => patient.resumeRun(run))),
  stopTries: (input) => local.stopTries(input).catch(orElse(() => patient.stopTries(input))),
};

function orElse<T>(then: () => Promise<T>): (error: unknown) => Promise<T> {
  return (error) => (isCancellation(error) ? Promise.reject(error) : then());
}
