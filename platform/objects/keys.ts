/** Which try a large output is of. */
interface OutputKey {
  readonly dagId: string;
  readonly runId: string;
  readonly taskId: string;
  /** -1: not mapped. */
  readonly mapIndex: number;
  readonly try: number;
}

/** `@` cannot stand in an id, so task `a` at index 1 and task `a.1` never share a key; a number is given to one try only. */
export function outputKey({ dagId, runId, taskId, mapIndex, try: number }: OutputKey): string {
  const index = mapIndex === -1 ? "" : `@${mapIndex}`;
  return `outputs/${dagId}/${runId}/${taskId}${index}.${number}.json`;
}
