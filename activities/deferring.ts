/** A try that waits: the row that stands for it, and what its body finds when it goes on. */
import type { BodyContext } from "../core/body.ts";
import { Terminal } from "../core/errors.ts";
import { after, LONGEST_MS, type Deferral } from "../core/waits.ts";
import type { Db } from "../db/connection.ts";
import type { TryKey } from "../db/runs.ts";
import { beginWaits, endedBefore, eventTries, resumedBy, type NewWait } from "../db/waits.ts";
import type { LoadedVersion } from "../db/versions.ts";
import type { WaitAddresses } from "../platform/wait-address.ts";
import type { RunTaskInput } from "./types.ts";

export interface DeferringDeps {
  readonly pool: Db;
  readonly addresses: WaitAddresses;
  /** Waits have ended whose runs are to be told. */
  readonly wantTelling: () => void;
}

/** Number of the wait that this part of the try would begin. */
const nextWait = ({ resumed, try: number }: RunTaskInput): number =>
  resumed?.try === number ? resumed.wait + 1 : 1;

export async function beginWait(
  { pool, wantTelling }: DeferringDeps,
  version: LoadedVersion,
  key: TryKey,
  input: RunTaskInput,
  deferral: Deferral,
  { tryBy, waitBy }: { readonly tryBy: number | null; readonly waitBy: number | undefined },
): Promise<void> {
  const base = {
    ...key,
    wait: nextWait(input),
    ...(tryBy !== null && { try_expires_at: isoOf(tryBy) }),
  };
  const wait: NewWait =
    deferral.on === "poke"
      ? sensorWait(version, base, input, waitBy)
      : { ...base, ...ownOf(deferral), resumes: true, spec: {}, state_text: jsonOf(deferral.state) };
  if (await beginWaits(pool, [wait])) wantTelling();
}

type Own = Pick<NewWait, "kind" | "next_at" | "expires_at">;

function ownOf(deferral: Exclude<Deferral, { on: "poke" }>): Own {
  if (deferral.on === "time") return { kind: "time", next_at: isoOf(after(deferral.at, 0)) };
  return {
    kind: "event",
    ...(deferral.timeoutMs !== null && { expires_at: isoOf(after(Date.now(), deferral.timeoutMs)) }),
  };
}

function sensorWait(
  { waits, plan }: LoadedVersion,
  base: Omit<NewWait, "kind" | "resumes" | "spec">,
  input: RunTaskInput,
  waitBy: number | undefined,
): NewWait {
  const sensor = waits.get(input.taskId);
  if (sensor?.kind !== "sensor")
    throw new Terminal("no_sensor", `task "${input.taskId}" of this version is no sensor`);
  return {
    ...base,
    kind: "sensor",
    queue: plan.tasks[plan.positions.get(input.taskId)!]!.queue,
    resumes: false,
    spec: { refs: input.inputs, ...(input.asked !== undefined && { asked: input.asked }) },
    every_ms: Math.min(sensor.everyMs, LONGEST_MS),
    next_in_ms: Math.min(sensor.everyMs, LONGEST_MS),
    ...(waitBy !== undefined && { expires_at: isoOf(waitBy) }),
  };
}

/** When a sensor's time-out is over, epoch ms: it counts from its first check. Undefined: never. */
export function waitByOf({ waits }: LoadedVersion, { taskId, waitBy }: RunTaskInput): number | undefined {
  if (waitBy !== undefined) return waitBy;
  const wait = waits.get(taskId);
  return wait?.kind === "sensor" && wait.timeoutMs !== null ? after(Date.now(), wait.timeoutMs) : undefined;
}

/** What a body is told beside the run's facts: what ended its wait, and where waits are ended. */
export async function resumedWith(
  deps: DeferringDeps,
  version: LoadedVersion,
  key: TryKey,
  input: RunTaskInput,
): Promise<{
  readonly context: Pick<BodyContext, "resumed" | "waitUrls">;
  readonly begunBy?: number | null;
}> {
  const waitUrls = await urlsOf(deps, version, key, input);
  if (input.resumed === undefined && input.afterLost !== true) return { context: { waitUrls } };
  const row =
    input.resumed === undefined
      ? await endedBefore(deps.pool, key)
      : await resumedBy(deps.pool, { ...key, try: input.resumed.try, wait: input.resumed.wait });
  if (row === null && input.resumed === undefined) return { context: { waitUrls } };
  const resumed = { payload: parsed(row?.payload), state: parsed(row?.state) };
  // One that takes the place of a lost one has the whole of its time.
  const isOwn = input.resumed?.try === key.try;
  const context = { resumed, waitUrls };
  return isOwn ? { context, begunBy: row?.try_expires_at?.getTime() ?? null } : { context };
}

/** Its own, should it wait, and those of the DAG's waits that are ended from outside. */
async function urlsOf(
  { pool, addresses }: DeferringDeps,
  { waits, plan }: LoadedVersion,
  key: TryKey,
  input: RunTaskInput,
): Promise<Readonly<Record<string, string>>> {
  const { taskId, mapIndex, try: number, info } = input;
  const own = addresses.urlOf({ run: info.run, taskId, mapIndex, try: number, wait: nextWait(input) });
  const map = plan.tasks[plan.positions.get(taskId)!]?.map;
  const events = [...waits].flatMap(([id, { kind }]) => {
    const around = plan.tasks[plan.positions.get(id)!]?.map;
    if (kind !== "event" || (around !== undefined && around !== map)) return [];
    return [{ task_id: id, map_index: around === undefined ? -1 : mapIndex }];
  });
  if (events.length === 0) return { [taskId]: own };
  const tries = await eventTries(pool, key.run, events);
  const others = tries.map(
    (one) =>
      [
        one.task_id,
        addresses.urlOf({
          run: key.run,
          taskId: one.task_id,
          mapIndex: one.map_index,
          try: one.try,
          wait: 1,
        }),
      ] as const,
  );
  return { [taskId]: own, ...Object.fromEntries(others) };
}

const isoOf = (at: number): string => new Date(at).toISOString();

const jsonOf = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value));

const parsed = (text: string | null | undefined): unknown =>
  text === null || text === undefined ? undefined : (JSON.parse(text) as unknown);
