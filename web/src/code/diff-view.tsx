import { useMemo } from "react";
import type { VersionDiff } from "../../../api/contracts.ts";
import { Answer } from "../ui/answer.tsx";
import { Notice } from "../ui/notice.tsx";
import { sayChanges, type Say } from "./change-words.ts";
import { highlightHunk } from "./highlight.ts";
import { useVersionDiff } from "./queries.ts";
import { Pieces } from "./source.tsx";

interface Props {
  readonly dagId: string;
  readonly from: number;
  readonly to: number;
}

/** From one version to another: the graph in words, then the sources line by line. */
export function DiffView({ dagId, from, to }: Props) {
  const query = useVersionDiff(dagId, from, to);
  return (
    <Answer key={`${from} ${to}`} query={query} what={`the changes from version ${from} to ${to}`}>
      {(diff) => <Changes diff={diff} />}
    </Answer>
  );
}

function Changes({ diff }: { readonly diff: VersionDiff }) {
  const said = useMemo(() => sayChanges(diff), [diff]);
  if (said.length === 0 && diff.sources.length === 0)
    return (
      <Notice title="Nothing changed">
        Versions {diff.from.number} and {diff.to.number} have the same graph and the same sources.
      </Notice>
    );
  return (
    <div className="diff">
      <section aria-label="Changes of the graph">
        <h2>Graph</h2>
        {said.length === 0 ? (
          <p className="soft">The graph is the same; only sources changed.</p>
        ) : (
          <ul className="said">
            {said.map((one) => (
              <SaidLine key={`${one.what} ${one.fields[0]?.name ?? ""}`} say={one} />
            ))}
          </ul>
        )}
      </section>
      <section aria-label="Changes of the sources">
        <h2>Sources</h2>
        {diff.sources.length === 0 && (
          <p className="soft">The sources are the same; a package or an option of the build changed.</p>
        )}
        {diff.sources.map((file) => (
          <FileDiff key={file.path} file={file} />
        ))}
      </section>
    </div>
  );
}

function SaidLine({ say }: { readonly say: Say }) {
  return (
    <li>
      <span className={`change ${say.change}`}>{say.change}</span>
      <span>
        <strong>{say.what}</strong>
        {say.fields.map((field) => (
          <span key={field.name} className="field-change">
            {field.name}: <del>{field.before}</del> <span aria-hidden="true">→</span>
            <span className="visually-hidden"> is now </span> <ins>{field.after}</ins>
          </span>
        ))}
      </span>
    </li>
  );
}

function FileDiff({ file }: { readonly file: VersionDiff["sources"][number] }) {
  const plus = countOf(file, "+");
  const minus = countOf(file, "-");
  return (
    <details className="file-diff" open>
      <summary>
        <code>{file.path}</code>
        <span className={`change ${file.change}`}>{file.change}</span>
        <span className="number small plus">+{plus}</span>
        <span className="number small minus">−{minus}</span>
      </summary>
      <div className="hunks" tabIndex={0} role="group" aria-label={`Lines of ${file.path}`}>
        {file.hunks.map((hunk) => (
          <HunkLines key={`${hunk.beforeStart} ${hunk.afterStart}`} path={file.path} hunk={hunk} />
        ))}
      </div>
    </details>
  );
}

function countOf(file: VersionDiff["sources"][number], sign: string): number {
  return file.hunks.reduce((sum, hunk) => sum + hunk.lines.filter((line) => line.startsWith(sign)).length, 0);
}

const WORD: Readonly<Record<string, string>> = { "+": "added", "-": "removed", " ": "same" };

function HunkLines({
  path,
  hunk,
}: {
  readonly path: string;
  readonly hunk: VersionDiff["sources"][number]["hunks"][number];
}) {
  const colored = useMemo(() => highlightHunk(hunk.lines, path), [hunk, path]);
  let [before, after] = [hunk.beforeStart, hunk.afterStart];
  return (
    <pre className="hunk">
      <code>
        {hunk.lines.map((text, at) => {
          const sign = text.slice(0, 1);
          const numbers = { before: sign === "+" ? "" : before++, after: sign === "-" ? "" : after++ };
          return (
            <span
              key={at}
              className={`line ${WORD[sign] ?? "note"}`}
              data-before={numbers.before}
              data-after={numbers.after}
              data-sign={sign}
            >
              <span className="visually-hidden">{sign === " " ? "" : `${WORD[sign] ?? ""}: `}</span>
              {sign === "\\" ? text : <Pieces line={colored[at] ?? []} />}
              {"\n"}
            </span>
          );
        })}
      </code>
    </pre>
  );
}
