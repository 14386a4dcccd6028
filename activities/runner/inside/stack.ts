const OURS = /\/activities\/runner\/inside\/|^\s+at .*node:internal\//;
let folders: readonly string[] = [];

/** Bundles lie in this folder; their source maps name the author's files relative to it. */
export function setCodeFolder(url: string): void {
  folders = [url, decodeURIComponent(new URL(url).pathname)];
}

/** A stack as the author wants it: with the names of the DAG's own files, without the runner's frames. */
export function tidyStack(stack: string): string {
  const lines = stack.split("\n").filter((line) => !OURS.test(line));
  return folders.reduce((text, folder) => text.replaceAll(folder, ""), lines.join("\n"));
}
