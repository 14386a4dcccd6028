import { memo, useMemo } from "react";
import { highlight, type Line } from "./highlight.ts";

/** So many lines are one block, which the browser skips while it is out of sight. */
const BLOCK = 100;

/** A source file with its line numbers, which a copy leaves out. */
export const Source = memo(function Source({
  path,
  source,
}: {
  readonly path: string;
  readonly source: string;
}) {
  const lines = useMemo(() => highlight(source.replace(/\n$/, ""), path), [source, path]);
  const blocks = Array.from({ length: Math.ceil(lines.length / BLOCK) }, (_, at) =>
    lines.slice(at * BLOCK, (at + 1) * BLOCK),
  );
  return (
    <pre className="source" tabIndex={0} aria-label={path}>
      {blocks.map((block, at) => (
        <code key={at} className="block-of-lines">
          {block.map((line, of) => (
            <span key={of} className="line" data-line={at * BLOCK + of + 1}>
              <Pieces line={line} />
              {"\n"}
            </span>
          ))}
        </code>
      ))}
    </pre>
  );
});

export function Pieces({ line }: { readonly line: Line }) {
  return line.map(({ text, tone }, at) =>
    tone === "" ? (
      text
    ) : (
      <span key={at} className={tone}>
        {text}
      </span>
    ),
  );
}
