import { formatDuration, formatInstant, formatOffset, formatRelative } from "./format.ts";
import { useNow } from "./use-now.ts";
import { useZone } from "./zone.tsx";

/** An instant in the zone in use; the other form (and the offset) is in its title. */
export function When({ at, seconds = true }: { readonly at: number; readonly seconds?: boolean }) {
  const { zone } = useZone();
  const title = `${formatInstant(at, zone)} ${formatOffset(at, zone)} · ${formatInstant(at, "UTC")} UTC`;
  return (
    <time dateTime={new Date(at).toISOString()} title={title}>
      {formatInstant(at, zone, seconds)}
    </time>
  );
}

export function Relative({ at }: { readonly at: number }) {
  const { zone } = useZone();
  const now = useNow();
  const title = `${formatInstant(at, zone)} ${formatOffset(at, zone)}`;
  return (
    <time dateTime={new Date(at).toISOString()} title={title}>
      {formatRelative(at, now)}
    </time>
  );
}

/** From start to end, or to now while it runs. */
export function Took({ from, to }: { readonly from: number; readonly to: number | null }) {
  return to === null ? <TookSoFar from={from} /> : <>{formatDuration(to - from)}</>;
}

function TookSoFar({ from }: { readonly from: number }) {
  return <>{formatDuration(Math.max(0, useNow() - from))}</>;
}
