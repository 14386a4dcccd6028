/**
 * The workflow's own time, epoch ms: that of its workflow task, and the same in a replay, since Temporal stands in for
 * `Date` in the sandbox. The one place where a workflow may ask for it (test/layout.test.ts).
 */
export const now = (): number => Date.now();
