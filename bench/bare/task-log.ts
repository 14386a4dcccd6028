import { setTimeout as sleep } from "node:timers/promises";
import { nowMs, type TaskTime } from "../contestant.ts";

/** The worker's own record of when bodies ran; one repetition at a time. */
export class TaskLog {
  private entries: TaskTime[] = [];

  /** Runs a body and notes its times. */
  record<T>(run: string, body: () => T): T {
    const startedAt = nowMs();
    const result = body();
    this.entries.push({ run, startedAt, endedAt: nowMs() });
    return result;
  }

  /** Waits until this many bodies have ended. */
  async reach(count: number, timeoutMs: number): Promise<void> {
    const until = nowMs() + timeoutMs;
    while (this.entries.length < count) {
      if (nowMs() > until)
        throw new Error(`bench: ${this.entries.length} of ${count} tasks ended within ${timeoutMs} ms`);
      await sleep(5);
    }
  }

  /** All entries so far; the log is empty afterwards. */
  take(): TaskTime[] {
    const taken = this.entries;
    this.entries = [];
    return taken;
  }
}
