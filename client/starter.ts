import {
  WithStartWorkflowOperation,
  WorkflowExecutionAlreadyStartedError,
  type Client,
  type WorkflowStartOptions,
} from "@temporalio/client";
import { TypedSearchAttributes } from "@temporalio/common";
import { Batcher } from "../core/batcher.ts";
import { workflowIdOf } from "../core/ids.ts";
import type { Standing } from "../core/limits.ts";
import type { RunType } from "../core/states.ts";
import type { Pool } from "../db/connection.ts";
import { runsStarted, type CreatedRun } from "../db/runs.ts";
import { Versions, type LoadedVersion } from "../db/versions.ts";
import { SEARCH_ATTRIBUTES } from "../platform/search-attributes.ts";
import type { CommandAnswer } from "../core/progress.ts";
import type { RunCommand } from "../core/run-command.ts";
import { commandUpdate, type DagRunInput } from "../workflows/messages.ts";
import { openedAtStart, type OpeningSettings, type RunFacts } from "./opening.ts";
import { priorityOf } from "./priority.ts";
import { tellWaits } from "./waker.ts";

export interface StarterDeps extends OpeningSettings {
  readonly pool: Pool;
  readonly temporal: Client;
  /** The Temporal connection is a worker's of this process: runs may start without a dispatch. */
  readonly eager: boolean;
  readonly onError: (error: Error, what: string) => void;
}

export interface RunToStart extends DagRunInput {
  readonly runType: RunType;
  /** Epoch ms. */
  readonly logicalAt: number;
  readonly standing: Standing;
}

/** Runs marked as started in one statement. */
const MARKED = 500;
/** Nobody waits for the mark: the runs of a burst share it. */
const MARK_REST_MS = 100;

/** A command's attempts, and what it rests between them: 14 s in all. */
const ATTEMPTS = 12;
const LET_GO_REST_MS = 200;

/**
 * Temporal lets go of a command that comes in the moment in which its run goes on in a new execution (RESOURCE_EXHAUSTED: the
 * workflow is closing), or tries that again since another message came in (FAILED_PRECONDITION). It has not been done, and
 * if it had, its id would be known.
 */
function isLetGo(error: unknown): boolean {
  const { code, message = "" } = error as { readonly code?: unknown; readonly message?: string };
  return (
    (code === 8 && message.includes("is closing")) ||
    (code === 9 && message.includes("workflow task failure"))
  );
}

/** Starts the workflows of runs and keeps the versions that their inputs are made of. */
export class RunStarter {
  readonly versions: Versions;
  readonly #deps: StarterDeps;
  readonly #marks: Batcher<number, undefined>;
  /** Who asks while runs are being told is told of with the next. */
  readonly #telling: Batcher<null, undefined>;

  constructor(deps: StarterDeps) {
    this.#deps = deps;
    this.versions = new Versions(deps.pool);
    this.#marks = new Batcher(
      async (runs) => {
        await runsStarted(deps.pool, runs);
        return runs.map(() => undefined);
      },
      MARKED,
      (run) => run,
      async () => await new Promise((resolve) => setTimeout(resolve, MARK_REST_MS)),
    );
    const { pool, temporal } = deps;
    this.#telling = new Batcher(async (asked) => {
      await tellWaits({ pool, temporal, onError: (error) => this.#untold(error) });
      return asked.map(() => undefined);
    }, Infinity);
  }

  /** What starts a run that was just made: with its first step taken, where its making did that. */
  toStart(made: CreatedRun, facts: RunFacts, version: LoadedVersion): RunToStart {
    const { dagId, runId, run, runType, logicalAt } = facts;
    const opened = openedAtStart(made, facts, version, this.#deps);
    const standing = made.standing ?? { tenant: null, class: 1, share: 1 };
    return { dagId, runId, run, runType, logicalAt, standing, ...(opened === undefined ? {} : { opened }) };
  }

  /** Starts the run's workflow; already started is fine (the ledger and the workflow id hold it to one). */
  async start(run: RunToStart, withinMs?: number): Promise<void> {
    if (withinMs === undefined) await this.#start(run);
    else {
      await this.#deps.temporal.withDeadline(Date.now() + withinMs, async () => await this.#start(run));
    }
    // Nobody waits for it: if it is lost, the outbox starts the run again, finds it started and writes it.
    this.#marks
      .add(run.run)
      .catch((error: unknown) =>
        this.#deps.onError(error as Error, "marking a run as started failed; it will be tried again"),
      );
  }

  /** A run that was closed has its place again, and its workflow is gone. */
  async startAgain(run: RunToStart): Promise<void> {
    await this.#started({ ...this.#options(run), workflowIdReusePolicy: "ALLOW_DUPLICATE" });
  }

  /**
   * Asks something of a run, which is started again for it when it is over. Answers once it is sure to happen (design 8);
   * throws what the run refuses it with, as WorkflowUpdateFailedError.
   */
  async command(run: RunToStart, command: RunCommand): Promise<CommandAnswer> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#ask(run, command);
      } catch (error) {
        if (attempt === ATTEMPTS || !isLetGo(error)) throw error;
        await new Promise((resolve) => setTimeout(resolve, attempt * LET_GO_REST_MS));
      }
    }
  }

  async #ask(run: RunToStart, command: RunCommand): Promise<CommandAnswer> {
    return await this.#deps.temporal.workflow.executeUpdateWithStart(commandUpdate, {
      args: [command],
      updateId: command.id,
      // One of these serves one call.
      startWorkflowOperation: new WithStartWorkflowOperation("dagRun", {
        ...this.#options(run),
        workflowIdReusePolicy: "ALLOW_DUPLICATE",
        workflowIdConflictPolicy: "USE_EXISTING",
      }),
    });
  }

  /** Tells runs of waits that have ended, behind the caller's back: what fails is told by a worker's outbox. */
  tellWaits(): void {
    this.#telling.add(null).catch((error: unknown) => this.#untold(error as Error));
  }

  #untold(error: Error): void {
    this.#deps.onError(error, "telling a run of its waits failed; it will be tried again");
  }

  async #start(run: RunToStart): Promise<void> {
    await this.#started({
      ...this.#options(run),
      workflowIdReusePolicy: "REJECT_DUPLICATE",
      requestEagerStart: this.#deps.eager,
    });
  }

  async #started(options: WorkflowStartOptions): Promise<void> {
    try {
      await this.#deps.temporal.workflow.start("dagRun", options);
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
  }

  #options({ runType, logicalAt, standing, ...input }: RunToStart): WorkflowStartOptions {
    return {
      taskQueue: this.#deps.taskQueue,
      workflowId: workflowIdOf(input.dagId, input.runId),
      args: [input satisfies DagRunInput],
      priority: priorityOf(standing),
      staticSummary: `${input.dagId} ${input.runId}`,
      typedSearchAttributes: new TypedSearchAttributes([
        { key: SEARCH_ATTRIBUTES.dag, value: input.dagId },
        { key: SEARCH_ATTRIBUTES.logicalDate, value: new Date(logicalAt) },
        { key: SEARCH_ATTRIBUTES.runType, value: runType },
      ]),
    };
  }
}
