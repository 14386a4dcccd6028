/** Tries of a task: their logs and outputs. */
import type { LogPiece, TryList } from "../api/contracts.ts";
import { type CallOptions, type Http, pathOf, type StreamOptions } from "./http.ts";
import { follow, textOf } from "./stream.ts";

/** A task in a run. */
export interface TaskOf {
  readonly dagId: string;
  readonly runId: string;
  readonly taskId: string;
  /** Which instance of a mapped task, from 0; -1 or left out: it is not mapped. */
  readonly mapIndex?: number | undefined;
}

/** One try of a task. */
export interface TryOf extends TaskOf {
  /** From 1. Left out: the last one; of an output the last one that succeeded. That costs a request. */
  readonly try?: number | undefined;
}

export const taskCalls = (http: Http) => {
  const tries = async (
    { dagId, runId, taskId, mapIndex }: TaskOf,
    call: CallOptions = {},
  ): Promise<TryList> => {
    const path = pathOf("dags", dagId, "runs", runId, "tasks", taskId, "tries");
    return await http.json(path, { ...call, query: { mapIndex } });
  };
  /** Where a try has no such thing, the API says why: of a task without tries it is asked for the first. */
  const pathFor = async (of: TryOf, state: string | null, { signal }: CallOptions): Promise<string> => {
    let number = of.try;
    if (number === undefined) {
      const all = (await tries(of, { signal })).tries;
      const last = all.findLast((one) => state === null || one.state === state) ?? all.at(-1);
      number = last?.try ?? 1;
    }
    return pathOf("dags", of.dagId, "runs", of.runId, "tasks", of.taskId, "tries", number);
  };
  return {
    /** Every try of a task in a run, and why the next one waits. */
    tries,
    /** A piece of a log from a byte offset on. */
    log: async (of: TryOf, offset = 0, call: CallOptions = {}): Promise<LogPiece> =>
      await http.json(`${await pathFor(of, null, call)}/log`, {
        ...call,
        query: { mapIndex: of.mapIndex, offset },
      }),
    /** A log as it is written; ends when the try has ended and all of it was read. */
    async *followLog(
      of: TryOf,
      offset = 0,
      call: StreamOptions = {},
    ): AsyncGenerator<{ readonly text: string; readonly nextOffset: number }, void, undefined> {
      const path = `${await pathFor(of, null, call)}/log/stream`;
      const query = { mapIndex: of.mapIndex, offset };
      for await (const { event, id, data } of follow(http, path, { ...call, query })) {
        if (event === "done") return;
        if (event === "log")
          yield { text: (JSON.parse(data) as { text: string }).text, nextOffset: Number(id) };
      }
    },
    /** The whole output of a try, also one that is stored apart. */
    output: async (of: TryOf, call: CallOptions = {}): Promise<unknown> =>
      await http.json(`${await pathFor(of, "success", call)}/output`, {
        ...call,
        query: { mapIndex: of.mapIndex },
      }),
    /** The same as its JSON arrives, for one that is too large to hold. */
    async *outputText(of: TryOf, call: CallOptions = {}): AsyncGenerator<string, void, undefined> {
      const path = `${await pathFor(of, "success", call)}/output`;
      yield* textOf(http, path, { ...call, query: { mapIndex: of.mapIndex } });
    },
  };
};
