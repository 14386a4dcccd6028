import type { DagDetail, DagVersion, VersionDetail } from "../../../api/contracts.ts";
import { useRun } from "../api/queries.ts";
import type { DagView } from "../routing/route.ts";
import { changeView } from "../routing/use-route.ts";
import { formatInstant } from "../time/format.ts";
import { When } from "../time/when.tsx";
import { useZone } from "../time/zone.tsx";
import { Answer } from "../ui/answer.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { Notice } from "../ui/notice.tsx";
import { DiffView } from "./diff-view.tsx";
import { useVersion, useVersions } from "./queries.ts";
import { Source } from "./source.tsx";
import "../graph/run-pick.css";
import "./code.css";

interface Props {
  readonly dag: DagDetail;
  readonly view: DagView;
}

/** The sources of a version, or what changed from another one to it. */
export function CodeView({ dag, view }: Props) {
  const { data: run } = useRun(dag.dagId, view.runId);
  const number = view.version ?? run?.version ?? (view.runId === null ? dag.version : null);
  const list = useVersions(dag.dagId, dag.versionSince);
  const versions = list.data?.pages.flatMap((page) => page.versions) ?? dag.versions;
  if (number === null)
    return (
      <section className="code-view" aria-label="Code">
        {dag.version === null ? <Notice title="No version">Nothing is stored of this DAG yet.</Notice> : null}
      </section>
    );
  return (
    <section className="code-view" aria-label="Code">
      <CodeTools
        versions={versions}
        number={number}
        current={dag.version}
        inForceBefore={dag.versionBefore}
        view={view}
        more={list.hasNextPage ? () => void list.fetchNextPage() : null}
        ofRun={run?.version === number}
      />
      {view.against === null || view.against === number ? (
        <PlainCode dagId={dag.dagId} number={number} path={view.path} />
      ) : (
        <DiffView dagId={dag.dagId} from={view.against} to={number} />
      )}
    </section>
  );
}

interface ToolProps {
  readonly versions: readonly DagVersion[];
  readonly number: number;
  readonly current: number | null;
  readonly inForceBefore: number | null;
  readonly view: DagView;
  /** Reads older versions; null: there are none. */
  readonly more: (() => void) | null;
  readonly ofRun: boolean;
}

function CodeTools({ versions, number, current, inForceBefore, view, more, ofRun }: ToolProps) {
  const older = versions.find((version) => version.number < number)?.number ?? null;
  const before = number === current ? inForceBefore : older;
  const against = view.against === number ? null : view.against;
  return (
    <div className="grid-tools">
      <VersionSelect
        label="Version"
        versions={versions}
        value={number}
        none={null}
        onPick={(picked) => changeView({ version: picked })}
      />
      <VersionSelect
        label="compared with"
        versions={versions.filter((version) => version.number !== number)}
        value={against}
        none="nothing"
        onPick={(picked) =>
          // Both are named, so that the address means the same after the next version.
          changeView(picked === null ? { against: null } : { version: number, against: picked })
        }
      />
      {against === null ? (
        <button
          type="button"
          className="button"
          disabled={before === null}
          onClick={() => changeView({ version: number, against: before })}
        >
          What changed in it
        </button>
      ) : (
        <>
          <button
            type="button"
            className="button"
            title="Compare the other way round"
            onClick={() => changeView({ version: against, against: number })}
          >
            Swap
          </button>
          <button type="button" className="button" onClick={() => changeView({ against: null })}>
            Show the code
          </button>
        </>
      )}
      {more !== null && (
        <button type="button" className="button plain" onClick={more}>
          Read older versions
        </button>
      )}
      <span className="gap" />
      <span className="soft small">
        {number === current ? "the current version" : `the current one is ${current ?? "none"}`}
        {ofRun && ", of the run that is picked"}
      </span>
    </div>
  );
}

function VersionSelect({
  label,
  versions,
  value,
  none,
  onPick,
}: {
  readonly label: string;
  readonly versions: readonly DagVersion[];
  readonly value: number | null;
  readonly none: string | null;
  readonly onPick: (version: number | null) => void;
}) {
  const { zone } = useZone();
  const listed = value === null || versions.some((version) => version.number === value);
  return (
    <label className="run-pick">
      <span className="soft small">{label}</span>
      <select
        className="field"
        value={value ?? ""}
        onChange={({ target }) => onPick(target.value === "" ? null : Number(target.value))}
      >
        {none !== null && <option value="">{none}</option>}
        {!listed && <option value={value}>{value}</option>}
        {versions.map((version) => (
          <option key={version.number} value={version.number}>
            {version.number} · {formatInstant(Date.parse(version.createdAt), zone, false)}
            {version.current && " · current"}
          </option>
        ))}
      </select>
    </label>
  );
}

function PlainCode({
  dagId,
  number,
  path,
}: {
  readonly dagId: string;
  readonly number: number;
  readonly path: string | null;
}) {
  return (
    <Answer key={number} query={useVersion(dagId, number)} what={`version ${number}`}>
      {(version) => <Files version={version} path={path} />}
    </Answer>
  );
}

function Files({ version, path }: { readonly version: VersionDetail; readonly path: string | null }) {
  const { sources } = version;
  const shown = sources.find((source) => source.path === path) ?? sources[0];
  if (shown === undefined)
    return (
      <Notice title="No sources">
        The code of version {version.number} was stored without its sources; its hash is{" "}
        <code>{version.hash.slice(0, 12)}</code>.
      </Notice>
    );
  return (
    <div className="files">
      <div className="file-tabs" role="tablist" aria-label="Source files">
        {sources.map((source) => (
          <button
            key={source.path}
            type="button"
            role="tab"
            aria-selected={source === shown}
            aria-controls="source-file"
            onClick={() => changeView({ path: source === sources[0] ? null : source.path })}
          >
            {source.path}
          </button>
        ))}
      </div>
      <div className="file-facts soft small">
        <span>
          stored <When at={Date.parse(version.createdAt)} seconds={false} />
          {version.sourcesAt > version.createdAt && (
            <>
              , its remarks <When at={Date.parse(version.sourcesAt)} seconds={false} />
            </>
          )}
        </span>
        <span className="mono" title={`Hash of graph and code: ${version.hash}`}>
          {version.hash.slice(0, 12)}
        </span>
        <span className="number">{shown.source.replace(/\n$/, "").split("\n").length} lines</span>
        <CopyButton label="copy" text={() => shown.source} />
      </div>
      <div id="source-file" role="tabpanel" className="file" aria-label={shown.path}>
        <Source path={shown.path} source={shown.source} />
      </div>
    </div>
  );
}
