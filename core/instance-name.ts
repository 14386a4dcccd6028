/** What people read where a task or an instance of it is meant. Pure. */

/** By its label and index, or by its index alone; a task that is not mapped by its id. */
export function instanceName({
  taskId,
  mapIndex,
  mapLabel,
}: {
  readonly taskId: string;
  /** Below 0: it is not mapped. */
  readonly mapIndex: number;
  readonly mapLabel?: string | undefined;
}): string {
  if (mapIndex < 0) return taskId;
  return mapLabel === undefined ? `${taskId}[${mapIndex}]` : `${taskId}[${mapLabel}] #${mapIndex}`;
}
