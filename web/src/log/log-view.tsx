import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState } from "react";
import { formatClock, formatInstant } from "../time/format.ts";
import { useZone } from "../time/zone.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import type { Line } from "./lines.ts";
import { useLogTail, type LogSource } from "./use-log-tail.ts";

const LINE_PX = 19;
/** Within this distance of the end the view follows new lines. */
const NEAR_END_PX = 40;

export function LogView({ source, running }: { readonly source: LogSource; readonly running: boolean }) {
  const { lines, done, error } = useLogTail(source, running);
  const [wrap, setWrap] = useState(true);
  const live = running && !done;
  return (
    <section className="log" aria-label="Log">
      <header>
        <h3>Log</h3>
        {live && <span className="tail-note small">following</span>}
        {error !== null && <span className="small bad-text">{error.message}</span>}
        <span className="soft small number">
          {lines.length} {lines.length === 1 ? "line" : "lines"}
        </span>
        {lines.length > 0 && <CopyButton label="copy" text={() => asText(lines)} />}
        <label className="small">
          <input type="checkbox" checked={wrap} onChange={(event) => setWrap(event.target.checked)} /> wrap
        </label>
      </header>
      {lines.length === 0 ? (
        <p className="soft log-empty">
          {done ? "This try wrote nothing to its log." : "Nothing in the log yet."}
        </p>
      ) : (
        <LogLines lines={lines} wrap={wrap} />
      )}
    </section>
  );
}

function asText(lines: readonly Line[]): string {
  return lines
    .map(({ at, level, text }) => (at === null ? text : `${new Date(at).toISOString()} ${level} ${text}`))
    .join("\n");
}

function LogLines({ lines, wrap }: { readonly lines: readonly Line[]; readonly wrap: boolean }) {
  const { zone } = useZone();
  const scroller = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE_PX,
    overscan: 30,
  });
  const { measure } = rows;
  useEffect(() => measure(), [wrap, measure]);
  useEffect(() => {
    if (follows.current && lines.length > 0) rows.scrollToIndex(lines.length - 1, { align: "end" });
  }, [lines.length, rows]);
  const onScroll = (): void => {
    const element = scroller.current;
    if (element === null) return;
    follows.current = element.scrollTop + element.clientHeight >= element.scrollHeight - NEAR_END_PX;
  };
  return (
    <div
      ref={scroller}
      className={`log-lines${wrap ? " wrap" : ""}`}
      role="log"
      tabIndex={0}
      aria-label="Lines of the log"
      onScroll={onScroll}
    >
      <div style={{ height: rows.getTotalSize() }}>
        <div style={{ transform: `translateY(${rows.getVirtualItems()[0]?.start ?? 0}px)` }}>
          {rows.getVirtualItems().map(({ index, key }) => {
            const line = lines[index]!;
            return (
              <div
                key={key}
                ref={rows.measureElement}
                data-index={index}
                className={`log-line ${line.level}`}
              >
                <time title={line.at === null ? "" : formatInstant(line.at, zone)}>
                  {line.at === null ? "" : formatClock(line.at, zone, true)}
                </time>
                <b>{line.at === null || line.level === "info" ? "" : line.level}</b>
                <span>{line.text}</span>
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}
