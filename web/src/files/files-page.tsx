import type { DagFile } from "../../../api/contracts.ts";
import { headlineOf, placeInWords } from "../imports/place.ts";
import { Link } from "../routing/link.tsx";
import { dagPlace, goTo } from "../routing/use-route.ts";
import { formatDuration } from "../time/format.ts";
import { Relative } from "../time/when.tsx";
import { Answer } from "../ui/answer.tsx";
import { Choice } from "../ui/choice.tsx";
import { Notice } from "../ui/notice.tsx";
import { SearchBox } from "../ui/search-box.tsx";
import { useFiles } from "./queries.ts";
import "./files.css";

interface Props {
  readonly search: string;
  readonly withError: boolean;
}

/** What the processor knows of each DAG file: for "why is my change not there yet". */
export function FilesPage({ search, withError }: Props) {
  const query = useFiles(search, withError);
  const change = (part: Partial<Props>): void => goTo({ page: "files", search, withError, ...part }, true);
  return (
    <>
      <div className="list-head">
        <h1>Files</h1>
        <span className="soft number" role="status">
          {query.data?.pages[0]?.total ?? ""}
        </span>
        <Choice
          label="Show"
          values={[false, true]}
          chosen={withError}
          onChoose={(errors) => change({ withError: errors })}
        >
          {(errors) => (errors ? "With errors" : "All")}
        </Choice>
        <SearchBox
          label="Search files"
          placeholder="Search files and DAGs"
          value={search}
          onChange={(text) => change({ search: text })}
        />
      </div>
      <Answer query={query} what="files">
        {({ pages }) => {
          const files = pages.flatMap((page) => page.files);
          return files.length === 0 ? (
            <NoFiles filtered={search !== "" || withError} withError={withError && search === ""} />
          ) : (
            <>
              <FileTable files={files} />
              {query.hasNextPage && (
                <button
                  type="button"
                  className="button more-files"
                  disabled={query.isFetchingNextPage}
                  onClick={() => void query.fetchNextPage()}
                >
                  Show more
                </button>
              )}
            </>
          );
        }}
      </Answer>
    </>
  );
}

function NoFiles({ filtered, withError }: { readonly filtered: boolean; readonly withError: boolean }) {
  if (withError) return <Notice title="No file has an error">Every DAG file loads.</Notice>;
  if (filtered) return <Notice title="No file matches">Change the search.</Notice>;
  return <Notice title="No files">Save a DAG file in the DAG folder: it appears here within seconds.</Notice>;
}

function FileTable({ files }: { readonly files: readonly DagFile[] }) {
  return (
    <div className="files-scroll">
      <table className="sheet files-table">
        <thead>
          <tr>
            <th scope="col">File</th>
            <th scope="col">DAGs</th>
            <th scope="col">Last imported</th>
            <th scope="col" title="When an import last changed what is stored">
              Last stored
            </th>
            <th scope="col" className="figure" title="Length of its last import">
              Import took
            </th>
            <th scope="col" className="figure" title="How long its last change waited for its import">
              Waited
            </th>
          </tr>
        </thead>
        <tbody>
          {files.map((file) => (
            <FileRow key={file.file} file={file} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function FileRow({ file }: { readonly file: DagFile }) {
  return (
    <tr>
      <th scope="row">
        <code>{file.file}</code>
        {file.error !== null && (
          <div className="small bad-text">
            <Link to={{ page: "import-errors", file: file.file }}>
              does not load{placeInWords(file.error)}
            </Link>
            : {headlineOf(file.error)}
          </div>
        )}
        {file.warnings.map((warning) => (
          <div key={warning.code} className="small warn-text">
            {warning.message}
          </div>
        ))}
      </th>
      <td className="file-dags">
        {file.dagIds.length === 0 && <span className="soft">none</span>}
        {file.dagIds.map((dagId) => (
          <Link key={dagId} to={dagPlace(dagId)}>
            {dagId}
          </Link>
        ))}
      </td>
      <td>{file.checkedAt === null ? <Never /> : <Relative at={Date.parse(file.checkedAt)} />}</td>
      <td>{file.storedAt === null ? <Never /> : <Relative at={Date.parse(file.storedAt)} />}</td>
      <td className="figure">{file.importMs === null ? "" : formatDuration(file.importMs)}</td>
      <td className="figure">{file.queueMs === null ? "" : formatDuration(file.queueMs)}</td>
    </tr>
  );
}

function Never() {
  return <span className="soft">never</span>;
}
