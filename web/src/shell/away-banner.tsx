import { useSyncExternalStore } from "react";
import { trouble } from "../api/client.ts";
import { Banner } from "../ui/banner.tsx";

/** Polling goes on, so the next answer takes the banner away; what was read before stays on the page. */
export function AwayBanner() {
  const now = useSyncExternalStore(trouble.subscribe, trouble.read);
  if (now === null) return null;
  return (
    <Banner tone="bad" live>
      {now.kind === "away" ? (
        <strong>Cannot reach the API; retrying.</strong>
      ) : (
        <>
          <strong>The API cannot answer; retrying.</strong> It says: {now.message}.
        </>
      )}{" "}
      What you see may be out of date.
    </Banner>
  );
}
