/** Tells people of what has happened: a POST of JSON to an address of theirs, until it is taken. */
import { retryDelayMs } from "../core/backoff.ts";
import { inParallel } from "../core/in-parallel.ts";
import { alertFailed, alertSent, takeAlerts, type AlertRow } from "../db/alerts.ts";
import type { Db } from "../db/connection.ts";
import type { Log } from "../platform/log.ts";

export interface AlertsDeps {
  readonly pool: Db;
  readonly log: Log;
  /** Where alerts go; undefined: into this log alone. */
  readonly url: string | undefined;
}

const AT_ONCE = 16;
const IN_PARALLEL = 8;
const ANSWER_MS = 10_000;
/** Longer than the answers to all of them may take. */
const HOLD_MS = 60_000;
const BACKOFF = { retryDelayMs: 5_000, retryFactor: 2, retryMaxDelayMs: 3_600_000 };
/** Attempts within a day or so, by that back-off. */
const MOST_ATTEMPTS = 32;

/** Delivers what is due; each at least once, with a key by which its receiver knows a repeat. */
export async function sendAlerts({ pool, log, url }: AlertsDeps): Promise<void> {
  const alerts = await takeAlerts(pool, AT_ONCE, HOLD_MS);
  await inParallel(alerts, IN_PARALLEL, async (alert) => {
    const told = textOf(alert);
    if (alert.attempts === 1)
      log.warn({ dag: alert.dag_id, run: alert.run_id, task: told.task }, told.message);
    if (url === undefined) {
      await alertFailed(pool, alert, "nobody is to be told: MERIDIAN_ALERT_URL is not set", null);
      return;
    }
    const refusal = await post(url, keyOf(alert), told);
    if (refusal === null) {
      await alertSent(pool, alert);
      return;
    }
    const isLast = alert.attempts >= MOST_ATTEMPTS;
    await alertFailed(pool, alert, refusal, isLast ? null : retryDelayMs(BACKOFF, alert.attempts));
    log.warn(
      { dag: alert.dag_id, run: alert.run_id },
      `an alert was not taken (${refusal}); ${isLast ? "it is given up" : "it will be sent again"}`,
    );
  });
}

const keyOf = (alert: AlertRow): string =>
  [alert.run, alert.task_id, alert.map_index, alert.try, alert.kind].join("/");

function textOf({
  kind,
  message,
  at,
  dag_id: dag,
  run_id: run,
  task_id,
  map_index,
  try: number,
  owner,
}: AlertRow) {
  const task = map_index < 0 ? task_id : `${task_id}[${map_index}]`;
  const what = task === "" ? "" : `task ${task} of `;
  return {
    kind,
    dag,
    run,
    task,
    try: number,
    owner,
    at: at.toISOString(),
    message: `${what}run ${run} of dag ${dag}: ${message}`,
  };
}

/** Null: it was taken. */
async function post(url: string, key: string, body: object): Promise<string | null> {
  try {
    const answer = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": key },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    await answer.body?.cancel();
    return answer.ok ? null : `it answered ${answer.status}`;
  } catch (error) {
    const { cause } = error as { cause?: unknown };
    return cause instanceof Error ? cause.message : String(error);
  }
}
