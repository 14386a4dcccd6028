/** The zone in use, as the URL names it. A page of a DAG offers that DAG's zone. */
import { createContext, useContext, useMemo, type ReactNode } from "react";
import type { ZoneChoice } from "../routing/zone-choice.ts";
import { currentRoute, navigate, useRoute } from "../routing/use-route.ts";
import { rememberZone } from "./remembered-zone.ts";

interface ZoneInUse {
  readonly choice: ZoneChoice;
  /** IANA name all instants are shown in. */
  readonly zone: string;
}

const ZoneContext = createContext<ZoneInUse>({ choice: "utc", zone: "UTC" });

export function chooseZone(choice: ZoneChoice): void {
  rememberZone(choice);
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
  const choice = useRoute().zone ?? "utc";
  const zone = choice === "dag" ? (dagZone ?? "UTC") : choice === "utc" ? "UTC" : choice;
  const value = useMemo(() => ({ choice, zone }), [choice, zone]);
  return <ZoneContext.Provider value={value}>{children}</ZoneContext.Provider>;
}

export function useZone(): ZoneInUse {
  return useContext(ZoneContext);
}
