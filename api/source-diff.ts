import { structuredPatch } from "diff";
import type { VersionDetail, VersionDiff } from "./contracts.ts";

type Sources = VersionDetail["sources"];
type SourceChange = VersionDiff["sources"][number];
type Hunk = SourceChange["hunks"][number];

const CONTEXT_LINES = 3;
/** Of all files together: long texts with nothing in common take minutes, and the API answers nobody else meanwhile. */
const BUDGET_MS = 250;

/** The sources a bundle's map holds, `file` first; none of a bundle without a map. */
export function sourcesOf(map: string | null, file: string): Sources {
  if (map === null) return [];
  const { sources, sourcesContent } = JSON.parse(map) as {
    sources: string[];
    sourcesContent?: (string | null)[];
  };
  const found = sources.map((path, i) => ({ path, source: sourcesContent?.[i] ?? "" }));
  const isOwn = ({ path }: { path: string }): number => (path === file ? 0 : 1);
  return found.sort((a, b) => isOwn(a) - isOwn(b) || (a.path < b.path ? -1 : 1));
}

/** Files that came, went or changed, by path. */
export function diffSources(before: Sources, after: Sources): SourceChange[] {
  const old = new Map(before.map(({ path, source }) => [path, source]));
  const now = new Map(after.map(({ path, source }) => [path, source]));
  const changes: SourceChange[] = [];
  const until = performance.now() + BUDGET_MS;
  for (const path of [...new Set([...old.keys(), ...now.keys()])].sort()) {
    const [a, b] = [old.get(path), now.get(path)];
    if (a === b) continue;
    const change = a === undefined ? "added" : b === undefined ? "removed" : "changed";
    changes.push({ path, change, hunks: hunksOf(a ?? "", b ?? "", until) });
  }
  return changes;
}

function hunksOf(before: string, after: string, until: number): Hunk[] {
  const patch = structuredPatch("", "", before, after, undefined, undefined, {
    context: CONTEXT_LINES,
    timeout: Math.max(1, until - performance.now()),
  });
  if (patch === undefined) return [replaced(before, after)];
  return patch.hunks.map(({ oldStart, newStart, lines }) => ({
    beforeStart: oldStart,
    afterStart: newStart,
    // What is left out says that the last line has no end.
    lines: lines.filter((line) => !line.startsWith("\\")),
  }));
}

/** From the first line that differs to the last one, without a look for what they share between. */
function replaced(before: string, after: string): Hunk {
  const [a, b] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  const lines = [
    ...a.slice(start, a.length - end).map((line) => `-${line}`),
    ...b.slice(start, b.length - end).map((line) => `+${line}`),
  ];
  return { beforeStart: start + 1, afterStart: start + 1, lines };
}

const linesOf = (text: string): string[] => text.replace(/\n$/, "").split("\n");
