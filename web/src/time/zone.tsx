/** The zone in use: from the URL, else the remembered choice, else UTC. A page of a DAG offers that DAG's zone. */
import { createContext, useContext, useMemo, type ReactNode } from "react";
import type { ZoneChoice } from "../routing/route.ts";
import { currentRoute, navigate, useRoute } from "../routing/use-route.ts";
import { recall, remember } from "../ui/remembered.ts";

interface ZoneInUse {
  readonly choice: ZoneChoice;
  /** IANA name all instants are shown in. */
  readonly zone: string;
}

const ZoneContext = createContext<ZoneInUse>({ choice: "utc", zone: "UTC" });

export const LOCAL_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

function remembered(): ZoneChoice {
  const text = recall("zone");
  return text === "local" || text === "dag" ? text : "utc";
}

export function chooseZone(choice: ZoneChoice): void {
  remember("zone", choice);
  navigate({ ...currentRoute(), zone: choice }, true);
}

/** `dagZone` is null where no single DAG is open: its choice then means UTC. */
export function ZoneProvider({
  dagZone,
  children,
}: {
  readonly dagZone: string | null;
  readonly children: ReactNode;
}) {
  const { zone: inUrl } = useRoute();
  const choice = inUrl ?? remembered();
  const zone = choice === "local" ? LOCAL_ZONE : choice === "dag" ? (dagZone ?? "UTC") : "UTC";
  const value = useMemo(() => ({ choice, zone }), [choice, zone]);
  return <ZoneContext.Provider value={value}>{children}</ZoneContext.Provider>;
}

export function useZone(): ZoneInUse {
  return useContext(ZoneContext);
}
