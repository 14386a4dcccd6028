/** A try that waits: the row that stands for it, and what its body finds when it goes on. */
import type { BodyContext } from "../core/body.ts";
import { Terminal } from "../core/errors.ts";
import type { Deferral } from "../core/waits.ts";
import type { Db } from "../db/connection.ts";
import type { TryKey } from "../db/runs.ts";
import { beginWaits, eventTries, resumedBy, type NewWait } from "../db/waits.ts";
import type { Versions } from "../db/versions.ts";
import type { WaitAddresses } from "../platform/wait-address.ts";
import type { RunTaskInput } from "./types.ts";

export interface DeferringDeps {
  readonly pool: Db;
  readonly versions: Versions;
  readonly addresses: WaitAddresses;
  /** Waits have ended whose runs are to be told. */
  readonly wantTelling: () => void;
}

/** Number of the wait that this part of the try would begin. */
const nextWait = ({ resumed, try: number }: RunTaskInput): number =>
  resumed?.try === number ? resumed.wait + 1 : 1;

export async function beginWait(
  { pool, versions, wantTelling }: DeferringDeps,
  key: TryKey,
  input: RunTaskInput,
  deferral: Deferral,
  tryBy: number | null,
): Promise<void> {
  const base = {
    ...key,
    wait: nextWait(input),
    ...(tryBy !== null && { try_expires_at: isoOf(tryBy) }),
  };
  const wait: NewWait =
    deferral.on === "poke"
      ? await sensorWait(versions, base, input)
      : { ...base, ...ownOf(deferral), resumes: true, spec: {}, state_text: jsonOf(deferral.state) };
  if (await beginWaits(pool, [wait])) wantTelling();
}

type Own = Pick<NewWait, "kind" | "next_at" | "expires_in_ms">;

function ownOf(deferral: Exclude<Deferral, { on: "poke" }>): Own {
  if (deferral.on === "time") return { kind: "time", next_at: isoOf(deferral.at) };
  return {
    kind: "event",
    ...(deferral.timeoutMs !== null && { expires_in_ms: deferral.timeoutMs }),
  };
}

async function sensorWait(
  versions: Versions,
  base: Omit<NewWait, "kind" | "resumes" | "spec">,
  input: RunTaskInput,
): Promise<NewWait> {
  const { waits, plan } = await versions.load(input.info.version);
  const sensor = waits.get(input.taskId);
  if (sensor?.kind !== "sensor")
    throw new Terminal("no_sensor", `task "${input.taskId}" of this version is no sensor`);
  return {
    ...base,
    kind: "sensor",
    queue: plan.tasks[plan.positions.get(input.taskId)!]!.queue,
    resumes: false,
    spec: { refs: input.inputs, ...(input.asked !== undefined && { asked: input.asked }) },
    every_ms: sensor.everyMs,
    next_in_ms: sensor.everyMs,
    ...(input.waitBy !== undefined && { expires_at: isoOf(input.waitBy) }),
  };
}

/** What a body is told beside the run's facts: what ended its wait, and where waits are ended. */
export async function resumedWith(
  deps: DeferringDeps,
  key: TryKey,
  input: RunTaskInput,
): Promise<Pick<BodyContext, "resumed" | "waitUrls">> {
  const waitUrls = await urlsOf(deps, key, input);
  if (input.resumed === undefined) return { waitUrls };
  const row = await resumedBy(deps.pool, { ...key, try: input.resumed.try, wait: input.resumed.wait });
  const resumed = { payload: parsed(row?.payload), state: parsed(row?.state) };
  return { resumed, waitUrls };
}

/** Its own, should it wait, and those of the DAG's waits that are ended from outside. */
async function urlsOf(
  { pool, versions, addresses }: DeferringDeps,
  key: TryKey,
  input: RunTaskInput,
): Promise<Readonly<Record<string, string>>> {
  const { taskId, mapIndex, try: number, info } = input;
  const own = addresses.urlOf({ run: info.run, taskId, mapIndex, try: number, wait: nextWait(input) });
  const { waits, plan } = await versions.load(info.version);
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
