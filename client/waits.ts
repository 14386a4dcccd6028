/** Waits that somebody ends, or wants checked now. */
import { tellOf } from "../core/decision.ts";
import { Conflict, NotFound, Refused } from "../core/errors.ts";
import { paramErrorsText, type ParamError } from "../core/params.ts";
import { askedOf } from "../core/plan.ts";
import { didYouMean } from "../core/suggest.ts";
import type { SerialWait } from "../core/waits.ts";
import { transaction, type Db, type Pool } from "../db/connection.ts";
import { audit, findRun } from "../db/runs.ts";
import type { LoadedVersion } from "../db/versions.ts";
import { endEvent, pokeWait, runOfWait, waitOfTask, type RunOfWait, type WaitDetail } from "../db/waits.ts";
import { checkParams } from "../platform/params.ts";
import type { RunStarter } from "./starter.ts";
import type { CheckedWait, EndedWait, EndWaitRequest, TaskName, WaitNumber } from "./types.ts";

export interface WaitsDeps {
  readonly pool: Pool;
  readonly starter: Pick<RunStarter, "versions" | "tellWaits">;
}

/** Once it is answered it holds: the run is told behind it, by this process or by a worker. */
export async function endWait(deps: WaitsDeps, request: EndWaitRequest): Promise<EndedWait> {
  const { pool, starter } = deps;
  const { at, payload, who } = request;
  const run = await runOf(pool, at);
  const named = "dagId" in at ? await namedWait(deps, run, at) : at;
  const { taskId, mapIndex } = at;
  // Of a run that is over the version may be gone, and the answer is the same whatever is sent.
  const detail = isOpen(run) ? checked(await starter.versions.load(run.version!), taskId, payload) : null;
  const name = nameOf(run, at);
  const ended = await transaction(pool, async (client) => {
    const answer = await endEvent(client, {
      run: run.run,
      task_id: taskId,
      map_index: mapIndex,
      try: named?.try ?? null,
      wait: named?.wait ?? null,
      payload: JSON.stringify(payload ?? null),
      who,
      detail,
    });
    if (answer.answer === "ended") {
      const { try: number, wait } = answer;
      const by = "dagId" in at ? "name" : "address";
      const about = { taskId, mapIndex, try: number, wait, by };
      await audit(client, { who, action: "end_wait", dagId: run.dag_id, runId: run.run_id, detail: about });
    }
    return answer;
  });
  switch (ended.answer) {
    case "ended":
      starter.tellWaits();
      return {
        dagId: run.dag_id,
        runId: run.run_id,
        taskId,
        mapIndex,
        try: ended.try,
        wait: ended.wait,
      };
    case "already_ended":
      throw new Conflict("already_ended", `the wait of ${name} has been ended already`);
    case "too_late":
      throw tooLate(name, run);
    case "no_run":
      throw noRun(at);
  }
}

/** Its next check is due at once. */
export async function checkWait(
  { pool }: WaitsDeps,
  at: TaskName & { readonly who: string },
): Promise<CheckedWait> {
  const run = await runOf(pool, at);
  const name = nameOf(run, at);
  const { state, last } = await waitOfTask(pool, keyOf(run, at));
  if (last === null || !last.stands) throw notWaiting(name, state);
  if (last.kind === "event" || last.kind === "time") {
    const what = last.kind === "event" ? "for somebody to end it" : "for a time";
    throw new Conflict("nothing_to_check", `${name} waits ${what}: there is nothing to check`);
  }
  const poked = await transaction(pool, async (client) => {
    const outcome = await pokeWait(client, { ...keyOf(run, at), try: last.try, wait: last.wait });
    if (outcome === "due") {
      const { taskId, mapIndex, who } = at;
      const detail = { taskId, mapIndex, try: last.try, wait: last.wait };
      await audit(client, { who, action: "poke_wait", dagId: run.dag_id, runId: run.run_id, detail });
    }
    return outcome;
  });
  if (poked === "under_way")
    throw new Conflict("check_under_way", `${name} is being checked now: try again when that check is over`);
  if (poked === "over") throw new Conflict("already_ended", `the wait of ${name} has ended already`);
  const { taskId, mapIndex } = at;
  return { dagId: run.dag_id, runId: run.run_id, taskId, mapIndex, try: last.try, wait: last.wait };
}

async function runOf(db: Db, at: EndWaitRequest["at"]): Promise<RunOfWait> {
  const number = "dagId" in at ? (await findRun(db, at.dagId, at.runId))?.run : at.run;
  const run = number === undefined ? null : await runOfWait(db, number);
  if (run === null) throw noRun(at);
  return run;
}

const noRun = (at: EndWaitRequest["at"]): NotFound =>
  "dagId" in at
    ? new NotFound("no_run", `dag "${at.dagId}" has no run "${at.runId}"`)
    : new NotFound("no_run", "the run of this wait is not stored any more");

const isOpen = ({ state, version }: RunOfWait): boolean =>
  version !== null && (state === "queued" || state === "running");

const lateBecause = (run: RunOfWait): string =>
  isOpen(run) ? "its time is over, or its try has ended" : `its run is over (${run.state})`;

const nameOf = (run: RunOfWait, { taskId, mapIndex }: { taskId: string; mapIndex: number }): string =>
  `task "${taskId}"${mapIndex < 0 ? "" : `[${mapIndex}]`} of run "${run.run_id}" of dag "${run.dag_id}"`;

const keyOf = ({ run }: RunOfWait, { taskId, mapIndex }: TaskName) => ({
  run,
  task_id: taskId,
  map_index: mapIndex,
});

const notWaiting = (name: string, state: string | null): Conflict =>
  new Conflict(
    "not_waiting",
    `${name} waits for nothing now: it ${state === null ? "has not begun" : `is ${state}`}`,
  );

/** Which wait is meant; null: the one of a `waitFor` that is next to end, be it begun or not. */
async function namedWait(
  { pool, starter }: WaitsDeps,
  run: RunOfWait,
  at: TaskName,
): Promise<WaitNumber | null> {
  const name = nameOf(run, at);
  const { state, last } = await waitOfTask(pool, keyOf(run, at));
  if (isOpen(run)) {
    const version = await starter.versions.load(run.version!);
    checkIndex(version, at, name);
    if (version.waits.get(at.taskId)?.kind === "event") return null;
  }
  if (last === null || !last.stands) {
    // A run that is over answers how its wait ended.
    if (!isOpen(run) && last?.kind === "event") return last;
    throw isOpen(run) ? notWaiting(name, state) : tooLate(name, run);
  }
  if (last.kind === "event") return last;
  throw new Conflict(
    "not_an_event",
    `${name} ${OTHERS[last.kind]}: nobody ends it by hand; mark it as success to go on without it`,
  );
}

const OTHERS = {
  sensor: "is a sensor, which ends when its check says yes (`poke` checks it now)",
  time: "waits for a time",
  run: "waits for another run",
} as const;

const tooLate = (name: string, run: RunOfWait): Conflict =>
  new Conflict("too_late", `${name} does not wait for this any more: ${lateBecause(run)}`);

function checkIndex({ plan }: LoadedVersion, { taskId, mapIndex }: TaskName, name: string): void {
  const position = plan.positions.get(taskId);
  if (position === undefined) {
    const hint = didYouMean(taskId, [...plan.positions.keys()]);
    throw new NotFound("no_task", `there is no ${name}${hint}`);
  }
  const { map } = plan.tasks[position]!;
  if (map === undefined && mapIndex >= 0)
    throw new NotFound("no_task", `there is no ${name}: it is not mapped`);
  if (map === undefined) return;
  const { max } = plan.maps[map]!;
  if (mapIndex < 0)
    throw new Refused("no_index", `${name} is mapped: say which of its instances by mapIndex`);
  if (mapIndex >= max)
    throw new NotFound("no_task", `there is no ${name}: it is mapped over at most ${max} items`);
}

/** What the run must know of the payload, once it fits. */
function checked(version: LoadedVersion, taskId: string, payload: unknown): WaitDetail | null {
  const wait = version.waits.get(taskId);
  const position = version.plan.positions.get(taskId);
  // A body that waits reads what it is sent itself.
  if (wait === undefined || position === undefined) return null;
  const { asked } = askedOf(version.plan, position);
  const told = asked === undefined ? {} : tellOf(payload, asked);
  const errors = [...misfits(wait, payload), ...notTold(told)];
  if (errors.length > 0) {
    const text = `payload does not fit what task "${taskId}" waits for: ${paramErrorsText(errors)}; it still waits`;
    throw new Refused("bad_payload", text, { details: { errors } });
  }
  return "measured" in told && told.measured !== undefined ? { measured: told.measured } : null;
}

const misfits = (wait: SerialWait, payload: unknown): readonly ParamError[] =>
  wait.kind === "event" && wait.payload !== null ? checkParams(wait.payload, payload) : [];

/** Tasks are mapped over it: what is no list would fail them all. */
function notTold(told: ReturnType<typeof tellOf>): readonly ParamError[] {
  if ("error" in told) return [{ path: "", message: told.error.message }];
  if (told.measured === undefined || !("not" in told.measured)) return [];
  const message = `is ${told.measured.not}; expected a list, since tasks are mapped over it`;
  return [{ path: "", message }];
}
