import { Suspense, lazy, useEffect, useState } from "react";
import { useLive } from "./api/live.ts";
import { useDag } from "./api/queries.ts";
import { DagPage } from "./dag/dag-page.tsx";
import { DagListPage } from "./dags/dag-list-page.tsx";
import { DialBanner } from "./dial/dial-banner.tsx";
import { ImportErrorsPage } from "./imports/import-errors-page.tsx";
import { PoolsPage } from "./pools/pools-page.tsx";
import { Link } from "./routing/link.tsx";
import { ALL_DAGS, type Place } from "./routing/route.ts";
import { useRoute } from "./routing/use-route.ts";
import { RunsPage } from "./runs/runs-page.tsx";
import { AwayBanner } from "./shell/away-banner.tsx";
import { Header } from "./shell/header.tsx";
import { KeyHelp } from "./shell/key-help.tsx";
import { ZoneProvider } from "./time/zone.tsx";
import { Loading, Notice } from "./ui/notice.tsx";
import { useKeys } from "./ui/use-keys.ts";

// Not what most come for: these stay out of the first load.
const FilesPage = lazy(async () => ({ default: (await import("./files/files-page.tsx")).FilesPage }));
const WaitsPage = lazy(async () => ({ default: (await import("./waits/waits-page.tsx")).WaitsPage }));

export function App() {
  const { place } = useRoute();
  const [help, setHelp] = useState(false);
  const dagZone = useDagZone(place);
  useLive(place.page === "dag" ? place.dagId : null);
  useKeys({
    "?": () => setHelp(true),
    "/": () => document.querySelector<HTMLInputElement>("[data-search]")?.focus(),
  });
  useEffect(() => {
    document.title = `${titleOf(place)} · Meridian`;
  }, [place]);
  return (
    <ZoneProvider dagZone={dagZone}>
      <Header dagZone={dagZone} onHelp={() => setHelp(true)} />
      <AwayBanner />
      <DialBanner />
      <main className={`page page-${place.page}`}>
        <Suspense fallback={<Loading what="the page" />}>
          <Page place={place} />
        </Suspense>
      </main>
      {help && <KeyHelp onClose={() => setHelp(false)} />}
    </ZoneProvider>
  );
}

function Page({ place }: { readonly place: Place }) {
  switch (place.page) {
    case "dags":
      return <DagListPage list={place.list} />;
    case "dag":
      // The key: another DAG starts with a state of its own.
      return <DagPage key={place.dagId} dagId={place.dagId} view={place.view} />;
    case "runs":
      return <RunsPage list={place.list} />;
    case "waits":
      return <WaitsPage list={place.list} />;
    case "pools":
      return <PoolsPage />;
    case "files":
      return <FilesPage search={place.search} withError={place.withError} />;
    case "import-errors":
      return <ImportErrorsPage file={place.file} />;
    case "unknown":
      return (
        <Notice title="There is no such page" level={1}>
          <code>{place.path}</code> leads nowhere. <Link to={{ page: "dags", list: ALL_DAGS }}>All DAGs</Link>
        </Notice>
      );
  }
}

function titleOf(place: Place): string {
  switch (place.page) {
    case "dags":
      return "DAGs";
    case "dag":
      return place.dagId;
    case "runs":
      return "Runs";
    case "waits":
      return "Waits";
    case "pools":
      return "Pools";
    case "files":
      return "Files";
    case "import-errors":
      return "Import errors";
    case "unknown":
      return "Not found";
  }
}

/** Zone of the open DAG's timetable; null where no DAG with a zone is open. */
function useDagZone(place: Place): string | null {
  const { data } = useDag(place.page === "dag" ? place.dagId : null);
  const timetable = data?.graph?.timetable;
  return timetable?.kind === "cron" ? timetable.zone : null;
}
