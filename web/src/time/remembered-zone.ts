/** Which zone this reader chose last. */
import { parseZone, type ZoneChoice } from "../routing/zone-choice.ts";
import { recall, remember } from "../ui/remembered.ts";

/** IANA name of the browser's own zone. */
export const LOCAL_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** What is kept for the browser's own zone, wherever that is later. */
const LOCAL = "local";

export function rememberedZone(): ZoneChoice {
  const text = recall("zone");
  return parseZone(text === LOCAL ? LOCAL_ZONE : text) ?? "utc";
}

export function rememberZone(choice: ZoneChoice): void {
  remember("zone", choice === LOCAL_ZONE ? LOCAL : choice);
}
