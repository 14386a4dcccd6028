const OURS = /\/activities\/runner\/inside\/|^\s+at .*node:internal\//;

/** A stack as the author wants it: without the runner's own frames. */
export function tidyStack(stack: string): string {
  return stack
    .split("\n")
    .filter((line) => !OURS.test(line))
    .join("\n");
}
