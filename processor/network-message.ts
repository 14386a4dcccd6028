/** Thrown in the child at the call itself, and told of a file that went on after it. */
export const networkMessage = (call: string): string =>
  `${call} at import: a DAG file is imported often, and by every worker, so it must not reach the network; ` +
  "move the call into a task";
