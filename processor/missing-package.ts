import { SourceMap } from "node:module";
import type { RawError } from "./protocol.ts";
import type { Bundle, FileError } from "./types.ts";

const MISSING = /^Cannot find package '([^']+)' imported from (.+)$/;

/**
 * What Node says of a package that is not installed, with the line of the author's import, which Node does not know,
 * and what to do; null for any other error. `name` is the imported bundle's.
 */
export function missingPackage(raw: RawError, bundle: Bundle, name: string): FileError | null {
  const [, wanted, importer] = MISSING.exec(raw.message) ?? [];
  if (raw.code !== "ERR_MODULE_NOT_FOUND" || wanted === undefined || importer === undefined) return null;
  const place = importer.endsWith(`${name}.mjs`) ? importOf(wanted, bundle) : null;
  if (place === null) return null;
  return {
    code: raw.code,
    message:
      `Cannot find package '${wanted}' imported from ${place.file}:${place.line}; ` +
      `install it in the project (npm install ${wanted}) or correct the name`,
    ...place,
  };
}

/** Where the author imports the package first. */
function importOf(
  wanted: string,
  { code, map }: Bundle,
): { file: string; line: number; column: number } | null {
  const lines = code.split("\n");
  // As esbuild writes every import, whatever the author's quotes.
  const written = [`from "${wanted}`, `import "${wanted}`, `import("${wanted}`];
  const sources = new SourceMap(JSON.parse(map));
  for (const [index, line] of lines.entries()) {
    const start = written.find((text) => line.includes(`${text}"`) || line.includes(`${text}/`));
    if (start === undefined) continue;
    const entry = sources.findEntry(index, line.indexOf(start) + start.length);
    if (!("originalSource" in entry)) continue;
    return { file: entry.originalSource, line: entry.originalLine + 1, column: entry.originalColumn + 1 };
  }
  return null;
}
