/** Labels of mapped instances in a local run. */
import type { BodyContext } from "../core/body.ts";
import { MeridianError } from "../core/errors.ts";
import type { SerialGraph } from "../core/graph.ts";
import { labelsOf, type TaskLabel } from "../core/map-label.ts";
import type { At } from "../core/progress.ts";
import type { TemplateValues } from "../core/templates.ts";

type Inputs = Readonly<Record<string, unknown>>;

export class LocalLabels {
  readonly #graph: SerialGraph;
  readonly #context: Omit<BodyContext, "taskId" | "mapIndex" | "try" | "maxTries">;
  readonly #labels: ReadonlyMap<string, TaskLabel>;
  /** By the name of an instance. */
  readonly #found = new Map<string, string>();

  constructor(graph: SerialGraph, context: Omit<BodyContext, "taskId" | "mapIndex" | "try" | "maxTries">) {
    this.#graph = graph;
    this.#context = context;
    this.#labels = labelsOf(graph);
  }

  /** Of an instance that begins; null: it has none. `inputs` null: it has no body. `warn` hears why there is none. */
  of({ task, index }: At, inputs: Inputs | null, warn: (text: string) => void): string | null {
    const { id } = this.#graph.tasks[task]!;
    const label = this.#labels.get(id);
    if (label === undefined) return null;
    const values = this.#valuesOf(id, index);
    let text: string | null = null;
    try {
      if (inputs === null) text = label.ofGraph?.(values) ?? null;
      else text = label.ofInputs?.(values, inputs) ?? null;
    } catch (error) {
      if (!(error instanceof MeridianError)) throw error;
      warn(`this instance goes without a label: ${error.message}`);
    }
    if (text === null && (inputs === null || label.ofInputs === null))
      text = label.sameAs.map((other) => this.#found.get(`${other}[${index}]`)).find(Boolean) ?? null;
    if (text !== null) this.#found.set(`${id}[${index}]`, text);
    return text;
  }

  #valuesOf(taskId: string, mapIndex: number): TemplateValues {
    const { dagId, runId, logicalDate, dataInterval, ds, zone, conf } = this.#context;
    return {
      dagId,
      taskId,
      runId,
      tryNumber: 1,
      mapIndex,
      zone,
      logicalAt: Date.parse(logicalDate),
      startAt: Date.parse(dataInterval.start),
      endAt: Date.parse(dataInterval.end),
      ds,
      params: {},
      conf,
    };
  }
}
