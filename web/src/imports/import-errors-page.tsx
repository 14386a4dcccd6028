import type { ImportError } from "../../../api/contracts.ts";
import { useImportErrors } from "../api/queries.ts";
import { Link } from "../routing/link.tsx";
import { dagPlace, goTo } from "../routing/use-route.ts";
import { Relative } from "../time/when.tsx";
import { Answer } from "../ui/answer.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { Notice } from "../ui/notice.tsx";

export function ImportErrorsPage({ file }: { readonly file: string | null }) {
  return (
    <Answer query={useImportErrors()} what="import errors">
      {(errors) => <ErrorList errors={errors} file={file} />}
    </Answer>
  );
}

function ErrorList({
  errors,
  file,
}: {
  readonly errors: readonly ImportError[];
  readonly file: string | null;
}) {
  if (errors.length === 0) return <Notice title="No import errors">Every DAG file loads.</Notice>;
  return (
    <>
      <div className="list-head">
        <h1>Import errors</h1>
        <span className="soft number">{errors.length}</span>
      </div>
      <p className="soft lead">
        A file that does not load changes nothing: the last good version of its DAGs keeps running.
      </p>
      {errors.map((one) => (
        <ErrorCard key={one.file} error={one} open={one.file === file || errors.length === 1} />
      ))}
    </>
  );
}

function ErrorCard({ error, open }: { readonly error: ImportError; readonly open: boolean }) {
  return (
    <details
      className="import-error"
      open={open}
      onToggle={(event) => {
        if (event.currentTarget.open && !open) goTo({ page: "import-errors", file: error.file }, true);
      }}
    >
      <summary>
        <code className="file">{error.file}</code>
        <span className="first-line">{headlineOf(error)}</span>
        {placeOf(error) !== error.file && <code className="soft small">{placeOf(error)}</code>}
        <span className="soft small">
          tried <Relative at={Date.parse(error.checkedAt)} />
        </span>
      </summary>
      <pre className="block" tabIndex={0} aria-label={`Error of ${error.file}`}>
        {error.stack === null ? error.message : withStack(error.message, error.stack)}
      </pre>
      <p className="import-foot soft small">
        <span>
          {error.dagIds.length > 0 && "Still running from its last good version: "}
          {error.dagIds.map((dagId, at) => (
            <span key={dagId}>
              {at > 0 && ", "}
              <Link to={dagPlace(dagId)}>{dagId}</Link> (
              <Link to={dagPlace(dagId, { show: "code" })}>its code</Link>)
            </span>
          ))}
        </span>
        <span className="import-more">
          <span>{error.code.replaceAll("_", " ")}</span>
          <Link to={{ page: "files", search: error.file, withError: false }}>about the file</Link>
          <CopyButton label="copy" text={() => textOf(error)} />
        </span>
      </p>
    </details>
  );
}

/** Where it is, which may be in a module that the file imports. */
function placeOf({ file, place }: ImportError): string {
  return place === null ? file : `${place.file}:${place.line}`;
}

/** Without the place, which stands beside it. */
function headlineOf(error: ImportError): string {
  const line = error.message.split("\n", 1)[0]!;
  const place = `${placeOf(error)}: `;
  return line.startsWith(place) ? line.slice(place.length) : line;
}

/** As one would send it to somebody. */
function textOf(error: ImportError): string {
  return `${error.file}\n${error.stack === null ? error.message : withStack(error.message, error.stack)}`;
}

/** Stacks usually begin with the message. */
function withStack(message: string, stack: string): string {
  return stack.includes(message) ? stack : `${message}\n\n${stack}`;
}
