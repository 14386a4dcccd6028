import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { factsOf, runInfoOf, type OpeningSettings } from "../client/opening.ts";
import { grantOf } from "../client/teller.ts";
import { Terminal } from "../core/errors.ts";
import { RUN_DONE } from "../core/states.ts";
import { advance, type RecordRow, type RequestRow } from "../db/pools/advance.ts";
import { pauseFailing } from "../db/dag-rows.ts";
import {
  closeRuns,
  openRun,
  reopenRun,
  runFacts,
  runsStarted,
  stopTries,
  type CloseRun,
} from "../db/runs.ts";
import { Batcher } from "../core/batcher.ts";
import type { NewWait } from "../db/waits.ts";
import type { Confs } from "./confs.ts";
import { newWait } from "./new-waits.ts";
import { recordRow, requestRow } from "./rows.ts";
import type { AdvanceInput, Grant, RunActivities } from "./types.ts";
import type { Versions } from "../db/versions.ts";

export interface RunActivitiesDeps extends OpeningSettings {
  readonly pool: pg.Pool;
  readonly versions: Versions;
  readonly confs: Confs;
  /** A pass of the allocator is wanted. */
  readonly wantPass: () => void;
  /** Waits have ended whose runs are to be told. */
  readonly wantTelling: () => void;
}

/** Of runs that end within so long of each other, the later ones share a statement. */
const CLOSE_REST_MS = 50;

/**
 * Grants in one answer, which goes through Temporal's history: 2 MB, with task ids of 200 letters. More are told by the outbox,
 * after 5 s.
 */
const GRANTS = 5_000;
/** Beside a graph of up to 1.5 MB. */
const OPENING_GRANTS = 1_000;
/** Requests of one statement, which is to take far less than the 2 s of its call. */
const REQUESTS = 2_000;

interface Advance {
  readonly run: number;
  readonly records: readonly RecordRow[];
  readonly requests: readonly RequestRow[];
  readonly waits: readonly NewWait[];
}

/** A call that Temporal gave up and its repeat may lie in one batch. */
const runOf = (item: { readonly run: number }): number => item.run;

/** `openRun`, `advance`, `closeRun`: one SQL round trip each, shared by the runs that are at it together. */
export function createRunActivities(deps: RunActivitiesDeps): RunActivities {
  const batcher = new Batcher<Advance, readonly Grant[]>(
    async (batch) => {
      const answer = await advance(
        deps.pool,
        batch.map((item) => item.run),
        batch.flatMap((item) => item.records),
        batch.flatMap((item) => item.requests),
        batch.flatMap((item) => item.waits),
      );
      if (answer.woken) deps.wantTelling();
      if (answer.undecided) deps.wantPass();
      const byRun = new Map<number, Grant[]>(batch.map((item) => [item.run, []]));
      for (const grant of answer.grants) {
        byRun.get(grant.run)?.push(grantOf(grant));
      }
      return batch.map((item) => byRun.get(item.run)!.slice(0, GRANTS));
    },
    200,
    runOf,
  );

  const closing = new Batcher<CloseRun, undefined>(
    async (batch) => {
      if (await closeRuns(deps.pool, batch)) deps.wantPass();
      return batch.map(() => undefined);
    },
    100,
    runOf,
    async () => await sleep(CLOSE_REST_MS, undefined, { ref: false }),
  );

  return {
    async openRun(run) {
      const row = await openRun(deps.pool, run);
      if (row === null) throw new Terminal("no_run", `run ${run} is not in the database`);
      const isClosed = RUN_DONE[row.state];
      if (isClosed && row.run_state === null) return { kind: "gone", state: row.state };
      const version = await deps.versions.load(row.version);
      const first = row.run_state === null ? version.first : [];
      const requests = first.map((one) => ({ run, try: 1, ...one }));
      const grants: Grant[] = [];
      for (let from = 0; from < requests.length; from += REQUESTS)
        grants.push(
          ...(await batcher.add({
            run,
            records: [],
            requests: requests.slice(from, from + REQUESTS),
            waits: [],
          })),
        );
      return {
        kind: isClosed ? "closed" : "opened",
        progress: row.run_state,
        info: runInfoOf(factsOf(run, row, row.version), version, deps),
        graph: version.graph,
        grants: grants.slice(0, OPENING_GRANTS),
      };
    },

    async readGraph(version) {
      return (await deps.versions.load(version)).graph;
    },

    async openVersion({ run, version: number }) {
      const row = await runFacts(deps.pool, run);
      if (row === null) throw new Terminal("no_run", `run ${run} is not in the database`);
      const version = await deps.versions.find(number);
      if (version === null || version.dagId !== row.dag_id) {
        const message = `dag "${row.dag_id}" has no such version: expected one that is stored; clear the run with its own`;
        return { kind: "refused", code: "no_version", message };
      }
      return {
        kind: "opened",
        info: runInfoOf(factsOf(run, row, number), version, deps),
        graph: version.graph,
      };
    },

    async advance(input: AdvanceInput) {
      const version =
        input.requests.length === 0 || input.version === undefined
          ? null
          : await deps.versions.load(input.version);
      return await batcher.add({
        run: input.run,
        records: input.decisions.map((decision) => recordRow(input.run, decision)),
        requests: input.requests.map((request) => requestRow(input.run, request, version)),
        waits: input.waits === undefined ? [] : await waitsOf(deps, input.waits),
      });
    },

    async closeRun({ run, decisions, state, reason, progress }) {
      const records = decisions.map((decision) => recordRow(run, decision));
      await closing.add({ run, records, state, reason, progress });
      if (state === "failed") await pauseFailing(deps.pool, [run]);
    },

    async reopenRun({ run, decisions, progress, version = null }) {
      const records = decisions.map((decision) => recordRow(run, decision));
      const { placed, undecided } = await reopenRun(deps.pool, run, records, progress, version);
      if (undecided) deps.wantPass();
      return placed;
    },

    async resumeRun(run) {
      await runsStarted(deps.pool, [run]);
    },

    async stopTries({ run, tries }) {
      await stopTries(
        deps.pool,
        tries.map((one) => ({ run, task_id: one.taskId, map_index: one.mapIndex, try: one.try })),
      );
    },
  };
}

async function waitsOf(
  { versions, confs }: RunActivitiesDeps,
  { info, tries }: NonNullable<AdvanceInput["waits"]>,
): Promise<NewWait[]> {
  const version = await versions.load(info.version);
  const conf = info.conf ?? (await confs.of(info.run));
  return tries.map((one) => newWait(version, info, conf, one));
}
