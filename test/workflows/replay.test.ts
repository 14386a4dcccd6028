import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DefaultLogger, Runtime, Worker } from "@temporalio/worker";
import { beforeAll, describe, expect, it } from "vitest";
import { workflowBundle } from "../../worker/bundle.ts";
import { HISTORIES, read } from "./kept.ts";
import { SCENARIOS } from "./scenarios.ts";

const files = readdirSync(HISTORIES).sort();
let codePath: string;
beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger("ERROR", () => undefined) });
  codePath = await workflowBundle(() => undefined);
}, 60_000);

const replay = async (history: unknown): Promise<void> =>
  await Worker.runReplayHistory({ workflowBundle: { codePath } }, history, "run.replayed");

describe("B3: histories that are kept", () => {
  it("B3: there is one of each scenario", () => {
    for (const { name, executions = 1 } of SCENARIOS)
      expect(files.filter((file) => file.startsWith(`${name}-`)).length, name).toBeGreaterThanOrEqual(
        executions,
      );
  });

  it.for(files)("B3: today's code does what %s says", async (file) => {
    await replay(read(readFileSync(join(HISTORIES, file))));
  });

  it("a history that says something else is refused", async () => {
    const history = read(readFileSync(join(HISTORIES, "chain-with-a-retry-1.history")));
    const { events } = history as {
      events: { activityTaskScheduledEventAttributes?: { activityType: { name: string } } }[];
    };
    const scheduled = events.find((event) => Boolean(event.activityTaskScheduledEventAttributes))!;
    scheduled.activityTaskScheduledEventAttributes!.activityType.name = "anotherTask";
    await expect(replay(history)).rejects.toThrow();
  });
});
