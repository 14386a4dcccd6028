/** Calls `each` for all items, at most `width` at a time. The first error is thrown once all under way have ended. */
export async function inParallel<T>(
  items: Iterable<T>,
  width: number,
  each: (item: T) => Promise<unknown>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  const errors: unknown[] = [];
  const lane = async () => {
    for (let next = iterator.next(); next.done !== true && errors.length === 0; next = iterator.next()) {
      try {
        await each(next.value);
      } catch (error) {
        errors.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
  if (errors.length > 0) throw errors[0];
}
