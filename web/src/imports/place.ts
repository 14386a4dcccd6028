import type { ImportError } from "../../../api/contracts.ts";

/** `, line 27`, or `, shared/orders.ts line 3` where it is in a module that the file imports. */
export function placeInWords({ file, place }: ImportError): string {
  if (place === null) return "";
  return place.file === file ? `, line ${place.line}` : `, ${place.file} line ${place.line}`;
}

/** Where it is, which may be in a module that the file imports. */
export function placeOf({ file, place }: ImportError): string {
  return place === null ? file : `${place.file}:${place.line}`;
}

/** The first line without the place, which stands beside it. */
export function headlineOf(error: ImportError): string {
  const line = error.message.split("\n", 1)[0]!;
  const at = placeOf(error);
  if (!line.startsWith(`${at}:`)) return line;
  return line
    .slice(at.length + 1)
    .replace(/^\d+:/, "")
    .trimStart();
}
