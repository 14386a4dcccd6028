import { useRef, type ReactNode } from "react";
import { Loading, Trouble } from "./notice.tsx";

interface Props<T> {
  readonly query: { readonly data: T | undefined; readonly error: Error | null };
  /** For sentences: "Reading the grid …", "Cannot show the grid". */
  readonly what: string;
  readonly children: (data: T) => ReactNode;
}

/** What was read, or that it is being read, or why it cannot be. Data once shown stays while newer fails to come. */
export function Answer<T>({ query: { data, error }, what, children }: Props<T>) {
  // While a failed first read is tried again, its error would vanish for a moment: keep it in sight.
  const lastError = useRef<Error | null>(null);
  if (data !== undefined) {
    lastError.current = null;
    return children(data);
  }
  lastError.current = error ?? lastError.current;
  return lastError.current === null ? (
    <Loading what={what} />
  ) : (
    <Trouble what={what} error={lastError.current} />
  );
}
