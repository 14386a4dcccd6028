import { useLayoutEffect, useRef, type KeyboardEvent } from "react";
import type { Try, TryList } from "../../../api/contracts.ts";
import { LogView } from "../log/log-view.tsx";
import type { DagView } from "../routing/route.ts";
import { changeView } from "../routing/use-route.ts";
import { Mark } from "../states/state-mark.tsx";
import { TRY_LOOK } from "../states/tables.ts";
import { TryFacts } from "./try-facts.tsx";

interface Props {
  readonly dagId: string;
  readonly runId: string;
  readonly list: TryList;
  readonly view: DagView;
}

export function TriesView({ dagId, runId, list, view }: Props) {
  const { tries, taskId, mapIndex } = list;
  const shown = tries.find((one) => one.try === view.tryNumber) ?? tries.at(-1);
  if (shown === undefined) return null;
  return (
    <>
      <TryTabs tries={tries} shown={shown} />
      <div role="tabpanel" id="try-panel" aria-labelledby={`try-${shown.try}`} className="try-panel">
        <TryFacts one={shown} />
        <LogView
          key={shown.try}
          source={{ dagId, runId, taskId, mapIndex, tryNumber: shown.try }}
          // What is deferred goes on in the same log.
          running={shown.state === "running" || shown.state === "deferred"}
          view={view}
        />
      </div>
    </>
  );
}

/** What the mark alone says. */
const PLAIN: ReadonlySet<Try["state"]> = new Set(["running", "success", "failed"]);

function TryTabs({ tries, shown }: { readonly tries: readonly Try[]; readonly shown: Try }) {
  const list = useRef<HTMLDivElement>(null);
  // Of many tries the shown one, mostly the last, is in sight.
  useLayoutEffect(() => {
    list.current
      ?.querySelector("[aria-selected=true]")
      ?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [shown.try]);
  const pick = (one: Try): void =>
    changeView({ tryNumber: one === tries.at(-1) ? null : one.try, line: null }, true);
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>): void => {
    const step = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    const next = tries[tries.indexOf(shown) + step];
    if (step === 0 || next === undefined) return;
    event.preventDefault();
    pick(next);
    event.currentTarget.querySelector<HTMLElement>(`#try-${next.try}`)?.focus();
  };
  return (
    <div ref={list} role="tablist" aria-label="Tries" className="tabs" onKeyDown={onKeyDown}>
      {tries.map((one) => (
        <button
          key={one.try}
          type="button"
          role="tab"
          id={`try-${one.try}`}
          aria-controls="try-panel"
          aria-label={`Try ${one.try}: ${TRY_LOOK[one.state].word}`}
          aria-selected={one === shown}
          tabIndex={one === shown ? 0 : -1}
          onClick={() => pick(one)}
        >
          <Mark look={TRY_LOOK[one.state]} />
          Try {one.try}
          {PLAIN.has(one.state) ? "" : `: ${TRY_LOOK[one.state].word}`}
        </button>
      ))}
    </div>
  );
}
