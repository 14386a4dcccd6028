import { isAbsolute, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { exportMeant } from "../core/airflow-names.ts";
import { missingPackage } from "./missing-package.ts";
import type { RawError } from "./protocol.ts";
import type { Bundle, FileError } from "./types.ts";

/** `at name (path:line:column)`, or without the name and the brackets. A path may hold spaces and brackets. */
const FRAME =
  /^\s+at (?:.*? \((?<path>.+):(?<line>\d+):(?<column>\d+)\)|(?:async )?(?<bare>.+):(?<l>\d+):(?<c>\d+))$/;

/** What Node says of a name that the library does not have. */
const NO_EXPORT = /^The requested module 'meridian' does not provide an export named '(\w+)'$/;

/**
 * An error of imported code in terms of the author's files. The child's stack is mapped already; what is left is to
 * name files as the author does, and to leave out Node's frames and our own. `name` is the imported bundle's.
 */
export function sourceError(
  raw: RawError,
  bundle: Bundle,
  folder: string,
  name: string,
  file: string,
): FileError {
  const sources = new Set((JSON.parse(bundle.map) as { sources: string[] }).sources);
  const tidy = (text: string) =>
    text.replaceAll(new RegExp(`(?:file://)?[^\\s'"()]*${name}\\.mjs`, "g"), file);

  const lost = missingPackage(raw, bundle, name);
  if (lost !== null) return lost;
  const message = tidy(raw.message) + exportMeant(NO_EXPORT.exec(raw.message)?.[1] ?? "");
  if (raw.stack === undefined) return { code: raw.code, message };
  const lines: string[] = [];
  let place: { file: string; line: number; column: number } | undefined;
  for (const line of raw.stack.split("\n")) {
    const frame = FRAME.exec(line);
    if (frame === null) {
      // The text before the frames, with what Node puts there (the excerpt of the source).
      if (!/^\s+at /.test(line)) lines.push(tidy(line));
      continue;
    }
    const { path, line: at, column, bare, l, c } = frame.groups!;
    const shown = (path ?? bare)!;
    const source = sourceOf(shown, folder);
    if (!sources.has(source)) {
      if (isForeign(shown)) lines.push(line);
      continue;
    }
    lines.push(line.replace(shown, () => source));
    place ??= { file: source, line: Number(at ?? l), column: Number(column ?? c) };
  }
  return { code: raw.code, message, stack: lines.join("\n"), ...place };
}

/** `sales.ts:4:3`, as far as it is known; `path`: of the DAG file. */
export const placeOf = (
  path: string,
  { file = path, line, column }: Omit<FileError, "code" | "message">,
): string =>
  [file, line, line === undefined ? undefined : column].filter((part) => part !== undefined).join(":");

/** A package of the author's: worth showing, unlike Node's and our own frames. */
const isForeign = (path: string): boolean =>
  /[\\/]node_modules[\\/]/.test(path) && !/[\\/]node_modules[\\/](?:meridian|tsx)[\\/]/.test(path);

function sourceOf(path: string, folder: string): string {
  if (path.startsWith("node:")) return path;
  const absolute = path.startsWith("file:") ? fileURLToPath(path) : path;
  return isAbsolute(absolute) ? relative(folder, absolute).replaceAll("\\", "/") : path;
}
