/** In which zone times are shown, as the URL says it. Pure. */

/** `utc`, `dag` (the zone of the DAG that is open), or an IANA zone by its name. */
export type ZoneChoice = string;

function isZone(name: string): boolean {
  try {
    return Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

/** `utc`, `dag`, or a zone that this browser knows; null: none of them. */
export function parseZone(text: string | null): ZoneChoice | null {
  // An offset such as +02:00 is no zone: it does not know when clocks change.
  if (text === null || !/^[a-z]/i.test(text)) return null;
  if (text.toLowerCase() === "utc") return "utc";
  return text === "dag" || isZone(text) ? text : null;
}
