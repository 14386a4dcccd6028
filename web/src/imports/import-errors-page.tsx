import type { ImportError } from "../../../api/contracts.ts";
import { useImportErrors } from "../api/queries.ts";
import { Link } from "../routing/link.tsx";
import { dagPlace, goTo } from "../routing/use-route.ts";
import { Relative } from "../time/when.tsx";
import { Answer } from "../ui/answer.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { Notice } from "../ui/notice.tsx";
import { headlineOf, placeOf } from "./place.ts";

/** Codes that say nothing to an author. */
const CODE_WORDS: Readonly<Record<string, string>> = {
  bundle_failed: "it cannot be read as TypeScript, or imports what is not there",
};

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
        <code className="file">
          {error.file}
          {error.place?.file === error.file ? `:${error.place.line}` : ""}
        </code>
        <span className="first-line">{headlineOf(error)}</span>
        {error.place !== null && error.place.file !== error.file && (
          <code className="soft small">in {placeOf(error)}</code>
        )}
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
          <span>{CODE_WORDS[error.code] ?? error.code.replaceAll("_", " ")}</span>
          <Link to={{ page: "files", search: error.file, withError: false }}>about the file</Link>
          <CopyButton label="copy" text={() => textOf(error)} />
        </span>
      </p>
    </details>
  );
}

/** As one would send it to somebody. */
function textOf(error: ImportError): string {
  return `${placeOf(error)}\n${error.stack === null ? error.message : withStack(error.message, error.stack)}`;
}

/** Stacks usually begin with the message. */
function withStack(message: string, stack: string): string {
  return stack.includes(message) ? stack : `${message}\n\n${stack}`;
}
