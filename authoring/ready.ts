/** What stands between a try's context and its body: params read by the DAG's schema, templates rendered. */
import type { TaskLabel } from "../core/map-label.ts";
import { compileTemplate, type Render, type TemplateValues } from "../core/templates.ts";
import { Terminal } from "../core/errors.ts";
import type { Params, Payload } from "./params.ts";
import type { Dag } from "./registry.ts";
import type { AnyParams, TaskBody, TaskContext, Templates } from "./types.ts";

export interface CompiledTemplates {
  readonly given: Templates;
  readonly render: Render;
}

/** Null: the task has none. */
export function compileTemplates(
  given: Readonly<Record<string, unknown>>,
  params: Params | null,
): CompiledTemplates | null {
  if (Object.keys(given).length === 0) return null;
  const render = compileTemplate(given, { params: () => (params === null ? null : params.names) }, "");
  // A copy of its own, with nothing in it that JSON would change.
  return { given: JSON.parse(JSON.stringify(given)) as Templates, render };
}

interface Task {
  readonly body: TaskBody | null;
  readonly templates: CompiledTemplates | null;
  readonly payload: Payload | null;
}

export function makeReady(
  params: Params | null,
  tasks: ReadonlyMap<string, Task>,
  labels: ReadonlyMap<string, TaskLabel>,
): Omit<Dag, "id" | "graph"> {
  const readParams = (conf: AnyParams) => (params === null ? conf : params.read(conf));
  const ready = (taskId: string, context: TaskContext): TaskContext | Promise<TaskContext> => {
    const task = tasks.get(taskId);
    if (task === undefined) throw new Terminal("no_task", `dag "${context.dagId}" has no task "${taskId}"`);
    if (params === null && task.templates === null) return context;
    return after(readParams(context.conf), (read) => filled(context, read, task.templates));
  };
  return {
    readParams,
    ready,
    labelOf: (taskId, context) =>
      labels.get(taskId)?.ofInputs?.(valuesOf(context, {}), context.inputs) ?? null,
    payloadErrors: (taskId, payload) => tasks.get(taskId)?.payload?.misfits(payload) ?? [],
    bodyOf: (taskId) => {
      const task = tasks.get(taskId);
      const body = task?.body ?? undefined;
      if (body === undefined || (params === null && task!.templates === null)) return body;
      return (context) => after(ready(taskId, context), body);
    },
  };
}

function filled(context: TaskContext, params: AnyParams, templates: CompiledTemplates | null): TaskContext {
  if (templates === null) return Object.freeze({ ...context, params });
  const rendered = templates.render(valuesOf(context, params));
  return Object.freeze({ ...context, params, templates: rendered as TaskContext["templates"] });
}

const valuesOf = (context: TaskContext, params: AnyParams): TemplateValues => ({
  dagId: context.dagId,
  taskId: context.taskId,
  runId: context.runId,
  tryNumber: context.try,
  mapIndex: context.mapIndex ?? -1,
  zone: context.zone,
  logicalAt: context.logicalDate.getTime(),
  startAt: context.dataInterval.start.getTime(),
  endAt: context.dataInterval.end.getTime(),
  ds: context.ds,
  params,
  conf: context.conf,
});

/** At once when the value is there: a body's first part then runs where the caller expects it. */
function after<T, R>(value: T | Promise<T>, use: (value: T) => R): R | Promise<R> {
  return value instanceof Promise ? value.then(use) : use(value);
}
