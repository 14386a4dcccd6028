import { proxyActivities } from "@temporalio/workflow";
import type { ClockActivities } from "../activities/types.ts";
import type { ClockInput } from "./messages.ts";

const { createRuns } = proxyActivities<ClockActivities>({
  startToCloseTimeout: "5m",
  heartbeatTimeout: "30s",
  retry: { initialInterval: "1s", backoffCoefficient: 1.5, maximumInterval: "10s" },
});

/** What a clock Schedule starts each minute (design 5): it makes Temporal tick, our calendar decides. */
export async function clock(input: ClockInput): Promise<number> {
  return await createRuns(input.shard, input.shards);
}
