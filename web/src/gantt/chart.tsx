import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import type { RunDetail } from "../../../api/contracts.ts";
import type { DagView } from "../routing/route.ts";
import { formatDay, formatDuration } from "../time/format.ts";
import { useZone } from "../time/zone.tsx";
import { axisOf, type AxisTick } from "./axis.ts";
import { ChartRow, type Scale } from "./chart-row.tsx";
import type { Row, Span } from "./rows.ts";

const ROW_HEIGHT = 28;
/** A tick's text with its seconds, and some air. */
const TICK_WIDTH = 96;
const DIGIT_WIDTH = 7.5;
const USUAL_WIDTH = 900;

interface Props {
  readonly run: RunDetail;
  readonly rows: readonly Row[];
  readonly view: DagView;
  readonly now: number;
  readonly span: Span;
}

export function Chart({ run, rows, view, now, span }: Props) {
  const { zone } = useZone();
  const scroll = useRef<HTMLDivElement>(null);
  const head = useRef<HTMLDivElement>(null);
  const width = useWidth(head);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 12,
    getItemKey: (at) => rows[at]!.key,
  });
  const [entry, setEntry] = useState(0);
  // Some air at the right, so that the last bar does not touch the edge.
  const to = span.to + (span.to - span.from) * 0.02;
  const scale: Scale = { from: span.from, to };
  const ticks = axisOf(scale.from, scale.to, zone, Math.max(2, Math.floor(width / TICK_WIDTH)));
  const fits = ({ at, text }: AxisTick): boolean =>
    ((scale.to - at) / (scale.to - scale.from)) * width > text.length * DIGIT_WIDTH + 8;
  const percent = (at: number): string => `${((at - scale.from) / (scale.to - scale.from)) * 100}%`;

  const onKeyDown = (event: KeyboardEvent<HTMLElement>): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = Math.min(rows.length - 1, Math.max(0, entry + step));
    setEntry(next);
    virtual.scrollToIndex(next);
    // The row may be drawn only once the scroll is seen.
    requestAnimationFrame(() =>
      requestAnimationFrame(() =>
        scroll.current
          ?.querySelector<HTMLElement>(`[data-row="${next}"] .row-name`)
          ?.focus({ preventScroll: true }),
      ),
    );
  };

  return (
    <div className="gantt" ref={scroll} onKeyDown={onKeyDown}>
      <div className="gantt-head">
        <div className="gantt-corner soft small">
          {formatDay(span.from, zone)} · {zone} · {formatDuration(span.to - span.from)}
        </div>
        <div className="gantt-axis" ref={head} aria-hidden="true">
          {ticks.filter(fits).map((tick) => (
            <span key={tick.at} className="tick small" style={{ left: percent(tick.at) }}>
              {tick.text}
            </span>
          ))}
        </div>
      </div>
      <div
        className="gantt-body"
        role="list"
        aria-label="Tasks over time"
        style={{ height: virtual.getTotalSize() }}
      >
        <div className="gantt-lines" aria-hidden="true">
          {ticks.map((tick) => (
            <span key={tick.at} style={{ left: percent(tick.at) }} />
          ))}
        </div>
        {virtual.getVirtualItems().map(({ index, key, start }) => (
          <ChartRow
            key={key}
            index={index}
            top={start}
            row={rows[index]!}
            run={run}
            view={view}
            scale={scale}
            now={now}
            entry={index === Math.min(entry, rows.length - 1)}
            onFocus={setEntry}
          />
        ))}
      </div>
    </div>
  );
}

function useWidth(ref: React.RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(USUAL_WIDTH);
  useEffect(() => {
    if (ref.current === null) return undefined;
    const observer = new ResizeObserver(([one]) => {
      if (one !== undefined) setWidth(Math.round(one.contentRect.width));
    });
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, [ref]);
  return width;
}
