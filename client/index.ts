/** The published client: triggers, pauses and unpauses; the one door to Temporal. */
export { createClient, type ClientDeps } from "./client.ts";
export { RunStarter, type StarterDeps } from "./starter.ts";
export type { MeridianClient, TriggeredRun, TriggerRequest } from "./types.ts";
