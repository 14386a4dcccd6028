/** Somebody ends the wait of a task that is next to end, as the API does; its run is told by the workers. */
import { endEvent, type EventAnswer, type EventEnding } from "../../db/waits.ts";
import type { Product } from "./product.ts";

/** `more`: of which instance, which try and wait; default: the task as a whole, whatever it waits for next. */
export async function endWait(
  { pool }: Product,
  run: number,
  taskId: string,
  payload: unknown,
  more: Partial<EventEnding> = {},
): Promise<EventAnswer> {
  const { answer } = await endEvent(pool, {
    run,
    task_id: taskId,
    map_index: -1,
    try: null,
    wait: null,
    payload: JSON.stringify(payload),
    who: "test",
    detail: null,
    ...more,
  });
  return answer;
}
