import { Link } from "../routing/link.tsx";
import { When } from "../time/when.tsx";
import { Banner } from "../ui/banner.tsx";
import { useDial } from "./queries.ts";
import { boundsInWords } from "./words.ts";

/** On every page while the emergency dial is in force: nobody should wonder why nothing begins. */
export function DialBanner() {
  const inForce = useDial().data?.inForce ?? null;
  if (inForce === null) return null;
  const { who, reason, at, held } = inForce;
  return (
    <Banner tone="warn" live>
      <strong>The emergency dial is in force: {boundsInWords(inForce)}.</strong> Turned by {who} at{" "}
      <When at={Date.parse(at)} seconds={false} />: {reason}.{" "}
      {held === 0 ? "It holds nothing back now." : `It holds ${held} ${held === 1 ? "try" : "tries"} back.`}{" "}
      <Link to={{ page: "pools" }}>To the dial</Link>
    </Banner>
  );
}
