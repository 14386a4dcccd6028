import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import { changeView } from "../routing/use-route.ts";
import { formatClock, formatInstant } from "../time/format.ts";
import { useZone } from "../time/zone.tsx";
import type { Line } from "./lines.ts";
import { partsOf } from "./pick-lines.ts";

const LINE_PX = 19;
/** Within this distance of the end the view follows new lines. */
const NEAR_END_PX = 40;

interface Props {
  readonly lines: readonly Line[];
  /** Places of the lines shown; null: all. */
  readonly picked: readonly number[] | null;
  readonly find: string;
  /** The line that is linked to, counted from 1. */
  readonly line: number | null;
  readonly wrap: boolean;
  readonly follows: boolean;
  readonly onFollow: (follows: boolean) => void;
}

export function LogLines({ lines, picked, find, line, wrap, follows, onFollow }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const count = picked?.length ?? lines.length;
  const rows = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE_PX,
    overscan: 30,
  });
  const { measure } = rows;
  useEffect(() => measure(), [wrap, measure]);
  useEffect(() => {
    if (follows && count > 0) rows.scrollToIndex(count - 1, { align: "end" });
  }, [follows, count, rows]);
  const linked = line === null ? -1 : picked === null ? line - 1 : picked.indexOf(line - 1);
  // Once, when the line has been read; afterwards the reader scrolls as they like.
  const isThere = linked >= 0 && linked < count;
  useEffect(() => {
    if (isThere) rows.scrollToIndex(linked, { align: "center" });
  }, [rows, isThere, linked]);
  const onScroll = (): void => {
    const element = scroller.current;
    if (element === null) return;
    const atEnd = element.scrollTop + element.clientHeight >= element.scrollHeight - NEAR_END_PX;
    // Only the reader's own scrolling lets go of the end: new lines move it away too.
    if (!atEnd && follows && byReader.current) onFollow(false);
    else if (atEnd && !follows && byReader.current) onFollow(true);
  };
  const byReader = useRef(false);
  const touch = (): void => {
    byReader.current = true;
  };
  const digits = String(lines.length).length;
  return (
    <div
      ref={scroller}
      className={`log-lines${wrap ? " wrap" : ""}`}
      role="log"
      tabIndex={0}
      aria-label="Lines of the log"
      onScroll={onScroll}
      onWheel={touch}
      onPointerDown={touch}
      onKeyDown={touch}
    >
      <div className="log-canvas" style={{ height: rows.getTotalSize() }}>
        <div style={{ transform: `translateY(${rows.getVirtualItems()[0]?.start ?? 0}px)` }}>
          {rows.getVirtualItems().map(({ index, key }) => {
            const at = picked === null ? index : picked[index]!;
            return (
              <div key={key} ref={rows.measureElement} data-index={index}>
                <LogLine
                  line={lines[at]!}
                  number={at + 1}
                  digits={digits}
                  find={find}
                  linked={at + 1 === line}
                />
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

interface LineProps {
  readonly line: Line;
  readonly number: number;
  readonly digits: number;
  readonly find: string;
  readonly linked: boolean;
}

function LogLine({ line, number, digits, find, linked }: LineProps) {
  const { zone } = useZone();
  return (
    <div className={`log-line ${line.level}${linked ? " linked" : ""}`}>
      <button
        type="button"
        tabIndex={-1}
        className="line-number"
        style={{ width: `${digits}ch` }}
        aria-label={`Link to line ${number}`}
        title="Link to this line"
        onClick={() => changeView({ line: linked ? null : number }, true)}
      >
        {number}
      </button>
      <time title={line.at === null ? "" : formatInstant(line.at, zone)}>
        {line.at === null ? "" : formatClock(line.at, zone, true)}
      </time>
      <b>{line.at === null || line.level === "info" ? "" : line.level}</b>
      <span>
        {partsOf(line.text, find).map(({ text, found }, at) => (found ? <mark key={at}>{text}</mark> : text))}
      </span>
    </div>
  );
}
