import { DefinitionError } from "../core/errors.ts";

interface Node {
  readonly id: string;
  readonly upstream: ReadonlySet<number>;
}

/** Throws with the path when tasks wait for each other. Iterative: a chain of thousands must not exhaust the stack. */
export function checkAcyclic(tasks: readonly Node[], where: string): void {
  const path = findCycle(tasks);
  if (path === undefined) return;
  const names = path.map((position) => tasks[position]!.id);
  throw new DefinitionError(
    "cycle",
    `${where}, task "${names[0]}": tasks wait for each other in a circle: ${[...names, names[0]].join(" -> ")}; ` +
      "remove one of these edges",
    { details: { path: names } },
  );
}

/** Positions along a circle, each followed by one that waits for it; undefined when there is none. */
function findCycle(tasks: readonly Node[]): number[] | undefined {
  const done = new Set<number>();
  for (const [start] of tasks.entries()) {
    const path: number[] = [];
    const onPath = new Set<number>();
    const stack: Iterator<number>[] = [];
    const enter = (position: number) => {
      path.push(position);
      onPath.add(position);
      stack.push([...tasks[position]!.upstream].sort((a, b) => a - b).values());
    };
    if (!done.has(start)) enter(start);
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const next = top.next();
      if (next.done === true) {
        stack.pop();
        const left = path.pop()!;
        onPath.delete(left);
        done.add(left);
      } else if (onPath.has(next.value)) {
        return fromSmallest(path.slice(path.indexOf(next.value)).toReversed());
      } else if (!done.has(next.value)) {
        enter(next.value);
      }
    }
  }
  return undefined;
}

/** The same circle always reads the same. */
function fromSmallest(circle: readonly number[]): number[] {
  const at = circle.indexOf(Math.min(...circle));
  return [...circle.slice(at), ...circle.slice(0, at)];
}
