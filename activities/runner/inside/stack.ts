const FRAME = /^\s+at /;
const ROOT = new URL("../../../", import.meta.url);
/** Code of this library, by where its frames say they are. */
const OURS = [ROOT.href, decodeURIComponent(ROOT.pathname)].flatMap((root) =>
  ["activities", "authoring", "core", "platform"].map((folder) => `${root}${folder}/`),
);
const NODES = /\(?node:(?:internal\/|async_hooks)/;
let folders: readonly string[] = [];

/** Bundles lie in this folder; their source maps name the author's files relative to it. */
export function setCodeFolder(url: string): void {
  folders = [url, decodeURIComponent(new URL(url).pathname)];
}

/**
 * Stacks within a text, thrown or logged, as the author wants them: with the names of the DAG's own files, without our
 * frames, and without what is below the author's own code.
 */
export function tidyStack(text: string): string {
  if (!text.includes("\n") || !/\n\s+at /.test(text)) return text;
  const kept: string[] = [];
  let frames: string[] = [];
  const endFrames = (): void => {
    const last = frames.findLastIndex((frame) => folders.some((folder) => frame.includes(folder)));
    kept.push(...frames.slice(0, last === -1 ? frames.length : last + 1).filter((frame) => !isOurs(frame)));
    frames = [];
  };
  for (const line of text.split("\n")) {
    if (FRAME.test(line)) frames.push(line);
    else {
      if (frames.length > 0) endFrames();
      kept.push(line);
    }
  }
  endFrames();
  return folders.reduce((all, folder) => all.replaceAll(folder, ""), kept.join("\n"));
}

function isOurs(frame: string): boolean {
  return NODES.test(frame) || OURS.some((folder) => frame.includes(folder));
}
