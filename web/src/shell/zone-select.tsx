import { useRoute } from "../routing/use-route.ts";
import { formatClock, formatOffset } from "../time/format.ts";
import { useNow } from "../time/use-now.ts";
import { LOCAL_ZONE } from "../time/remembered-zone.ts";
import { chooseZone, useZone } from "../time/zone.tsx";

/** Of the browser's own zone, where that is no choice of its own. */
const LOCAL_IS_UTC = LOCAL_ZONE === "UTC";

/** Which zone times are shown in, always in sight, with the clock of that zone. */
export function ZoneSelect({ dagZone }: { readonly dagZone: string | null }) {
  const { choice, zone } = useZone();
  const { place } = useRoute();
  const now = useNow();
  const offset = formatOffset(now, zone);
  return (
    <label className="zone-select" title="All times on the page are in this zone">
      <span className="number">{formatClock(now, zone, true)}</span>
      <span className="visually-hidden">Time zone</span>
      <select className="field" value={choice} onChange={(event) => chooseZone(event.target.value)}>
        <option value="utc">UTC</option>
        {!LOCAL_IS_UTC && <option value={LOCAL_ZONE}>Local: {LOCAL_ZONE}</option>}
        {/* Lists show many DAGs: the choice is kept for the next DAG that is opened. */}
        <option value="dag" disabled={place.page !== "dag"}>
          DAG&apos;s zone: {place.page === "dag" ? (dagZone ?? "UTC") : "on its page; here UTC"}
        </option>
        {/* A link may name any zone: it stays one of the choices for as long as it is in use. */}
        {!["utc", "dag", LOCAL_ZONE].includes(choice) && <option value={choice}>{choice}</option>}
      </select>
      {offset !== "UTC" && <span className="soft number offset">{offset}</span>}
    </label>
  );
}
