import { useSyncExternalStore } from "react";
import { reachability } from "../api/fetch.ts";
import { Banner } from "../ui/banner.tsx";

/** Polling goes on, so the next answer takes the banner away; what was read before stays on the page. */
export function AwayBanner() {
  const reachable = useSyncExternalStore(reachability.subscribe, reachability.read);
  if (reachable) return null;
  return (
    <Banner tone="bad" live>
      <strong>Cannot reach the API; retrying.</strong> What you see may be out of date.
    </Banner>
  );
}
