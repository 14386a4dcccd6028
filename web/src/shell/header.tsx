import { useHealth, useImportErrors } from "../api/queries.ts";
import { Link } from "../routing/link.tsx";
import { ALL_DAGS, ALL_RUNS, ALL_WAITS, type Place } from "../routing/route.ts";
import { useRoute } from "../routing/use-route.ts";
import { SavedViews } from "./saved-views.tsx";
import { ThemeChoice } from "./theme-choice.tsx";
import { ZoneSelect } from "./zone-select.tsx";

const HOME: Place = { page: "dags", list: ALL_DAGS };

export function Header({
  dagZone,
  onHelp,
}: {
  readonly dagZone: string | null;
  readonly onHelp: () => void;
}) {
  const { page } = useRoute().place;
  const failed = useImportErrors().data?.length ?? 0;
  const temporal = useHealth().data?.temporal.web ?? null;
  const current = (here: boolean) => (here ? ({ "aria-current": "page" } as const) : {});
  return (
    <header className="header">
      <Link to={HOME} className="brand">
        <img src="/icon.svg" width="20" height="20" alt="" />
        Meridian
      </Link>
      <nav aria-label="Pages">
        <Link to={HOME} {...current(page === "dags" || page === "dag")}>
          DAGs
        </Link>
        <Link to={{ page: "runs", list: ALL_RUNS }} {...current(page === "runs")}>
          Runs
        </Link>
        <Link to={{ page: "waits", list: ALL_WAITS }} {...current(page === "waits")}>
          Waits
        </Link>
        <Link to={{ page: "pools" }} {...current(page === "pools")}>
          Pools
        </Link>
        <Link to={{ page: "files", search: "", withError: false }} {...current(page === "files")}>
          Files
        </Link>
        <Link to={{ page: "import-errors", file: null }} {...current(page === "import-errors")}>
          Import errors
          {failed > 0 && <span className="count">{failed}</span>}
        </Link>
        {temporal !== null && (
          <a href={temporal} target="_blank" rel="noreferrer">
            Temporal Web <span aria-hidden="true">↗</span>
          </a>
        )}
      </nav>
      <SavedViews />
      <ZoneSelect dagZone={dagZone} />
      <ThemeChoice />
      <button type="button" className="button plain" onClick={onHelp} aria-label="Keys (?)" title="Keys (?)">
        ?
      </button>
    </header>
  );
}
