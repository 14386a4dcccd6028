import type { ImportError } from "../../../api/contracts.ts";

/** `, line 27`, or `, shared/orders.ts line 3` where it is in a module that the file imports. */
export function placeInWords({ file, place }: ImportError): string {
  if (place === null) return "";
  return place.file === file ? `, line ${place.line}` : `, ${place.file} line ${place.line}`;
}
