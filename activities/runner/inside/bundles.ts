import { collect, type Dag } from "../../../authoring/collect.ts";
import { Retryable, Terminal } from "../../../core/errors.ts";

type Body = NonNullable<ReturnType<Dag["bodyOf"]>>;

/** Hangs only on a top-level `await` that never ends; the processor's own bound is the same. */
const IMPORT_TIMEOUT_MS = 60_000;

/**
 * The DAGs of the bundles imported here. Kept for the thread's life: an ES module cannot be unloaded, so the
 * runner replaces a thread after some hundreds of bundles.
 */
export class Bundles {
  readonly #dags = new Map<string, Promise<readonly Dag[]>>();
  readonly #failed = new Map<string, number>();

  /** The DAG of a task, and the task's body. */
  async find(
    url: string,
    dagId: string,
    taskId: string,
  ): Promise<{ readonly dag: Dag; readonly body: Body }> {
    let dags = this.#dags.get(url);
    if (dags === undefined) {
      dags = this.#import(url);
      this.#dags.set(url, dags);
      dags.catch(() => this.#dags.delete(url));
    }
    const dag = (await dags).find((candidate) => candidate.graph.dagId === dagId);
    const body = dag?.bodyOf(taskId);
    if (dag !== undefined && body !== undefined) return { dag, body };
    throw new Terminal(
      "body_not_found",
      `the stored code has no ${dag ? `task "${taskId}" in ` : ""}dag "${dagId}"`,
    );
  }

  #import(url: string): Promise<readonly Dag[]> {
    // A module that failed stays failed under its URL; the next attempt needs another.
    const failures = this.#failed.get(url) ?? 0;
    const fresh = failures === 0 ? url : `${url}?again=${failures}`;
    const imported = withinTime(collect(() => import(fresh)));
    imported.catch(() => this.#failed.set(url, failures + 1));
    return imported;
  }
}

async function withinTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () =>
        reject(
          new Retryable("import_timeout", `the code was not imported within ${IMPORT_TIMEOUT_MS / 1000} s`),
        ),
      IMPORT_TIMEOUT_MS,
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
