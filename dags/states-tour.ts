/** Shows the states a task can end in. Trigger it by hand; the run fails, as it is meant to. */
import { dag, fail, skip, task } from "meridian";

export const statesTour = dag(
  "states_tour",
  { schedule: null, description: "One task for each state", owner: "examples", tags: ["example"] },
  () => {
    const ok = task("ok", () => "done");

    const flaky = task("flaky", { after: [ok], retries: 2, retryDelay: "2s" }, ({ tryNumber, log }) => {
      log.warn(`try ${tryNumber}`);
      if (tryNumber < 3) throw new Error(`try ${tryNumber} fails; the third succeeds`);
      return tryNumber;
    });

    const skipped = task("skipped", { after: [ok] }, () => skip("nothing to do today"));
    task("skipped_too", { after: [skipped] }, () => "never runs, since its upstream was skipped");

    const failed = task("failed", { after: [ok], retries: 2 }, () =>
      fail("broken for good: no retry can help"),
    );
    task("upstream_failed", { after: [failed] }, () => "never runs, since its upstream failed");

    const slow = task("slow", { after: [ok], executionTimeout: "2s" }, async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      signal.throwIfAborted();
    });

    task(
      "clean_up",
      { after: [flaky, skipped, failed, slow], triggerRule: "all_done" },
      () => "runs whatever happened",
    );
    task(
      "alarm",
      { after: [flaky, failed, slow], triggerRule: "one_failed" },
      () => "runs because something failed",
    );
    task("any", { inputs: { flaky }, after: [skipped], triggerRule: "one_success" }, ({ inputs }) => {
      return `flaky took ${inputs.flaky ?? "?"} tries`;
    });
  },
);
