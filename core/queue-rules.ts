/** Which tenants may use which queues, by the limits file. Pure. */
import { RUNS_QUEUE } from "./not-begun.ts";
import type { LimitsFile } from "./limits-file.ts";
import type { RunGraph, RunTask } from "./plan.ts";
import { isBodyless } from "./waits.ts";

export type QueueRules = LimitsFile["queues"];

/** `refused`: why, with what to do. */
type QueueAnswer = { readonly queue: string } | { readonly refused: string };

/** What becomes of a task that asks for `queue`; a redirection is followed once. */
export function queueFor(
  { id, queue }: Pick<RunTask, "id" | "queue">,
  tenant: string | null,
  rules: QueueRules,
): QueueAnswer {
  const rule = Object.hasOwn(rules, queue) ? rules[queue]! : null;
  if (rule === null || (tenant !== null && rule.tenants.includes(tenant))) return { queue };
  if (rule.otherwise !== "refuse") return { queue: rule.otherwise.redirect };
  return {
    refused:
      `task "${id}" asks for queue "${queue}", and ${ownerOf(tenant)} may not use it: it is ${usersOf(rule.tenants)}; ` +
      "give the task another queue, or change the queue's tenants in the limits file",
  };
}

const ownerOf = (tenant: string | null): string =>
  tenant === null ? "a dag without a tenant" : `tenant "${tenant}"`;

const usersOf = (tenants: readonly string[]): string => {
  if (tenants.length === 0) return "for no tenant";
  const names = tenants.map((tenant) => `"${tenant}"`);
  return `for ${names.length === 1 ? "tenant" : "tenants"} ${names.join(", ")}`;
};

/**
 * The graph with each task on the queue that it may use. One that is refused is on the queue that every installation serves,
 * where its tries fail at once.
 */
export function withQueues(graph: RunGraph, tenant: string | null, rules: QueueRules): RunGraph {
  if (!graph.tasks.some(({ queue }) => Object.hasOwn(rules, queue))) return graph;
  const tasks = graph.tasks.map((task): RunTask => {
    if (isBodyless(task.wait)) return task;
    const answer = queueFor(task, tenant, rules);
    return "queue" in answer
      ? { ...task, queue: answer.queue }
      : { ...task, queue: RUNS_QUEUE, refused: answer.refused };
  });
  return { ...graph, tasks };
}
