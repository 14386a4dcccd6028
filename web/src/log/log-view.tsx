import { useMemo, useState } from "react";
import { isAway } from "../api/api.ts";
import { LOG_LEVELS, type DagView } from "../routing/route.ts";
import { changeView } from "../routing/use-route.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { recall, remember } from "../ui/remembered.ts";
import { SearchBox } from "../ui/search-box.tsx";
import { LogLines } from "./log-lines.tsx";
import { pickLines } from "./pick-lines.ts";
import { useLogTail, type LogSource } from "./use-log-tail.ts";

interface Props {
  readonly source: LogSource;
  readonly running: boolean;
  readonly view: DagView;
}

/** A try's log, live while the try runs. Search, level and line stand in the URL. */
export function LogView({ source, running, view }: Props) {
  const { lines, done, error, text } = useLogTail(source, running);
  const [wrap, setWrap] = useState(() => recall("wrap") !== "no");
  // A link to a line opens at that line; else the end is what one wants to see.
  const [follows, setFollows] = useState(view.line === null);
  const { find, level } = view;
  const picked = useMemo(() => pickLines(lines, level, find), [lines, level, find]);
  const shown = picked?.length ?? lines.length;
  const live = running && !done;
  const filtered = picked !== null;
  return (
    <section className="log" aria-label="Log">
      <header>
        <h3>Log</h3>
        {live && <span className="tail-note small">following</span>}
        <span className="soft small number" role="status">
          {filtered && `${shown.toLocaleString("en")} of `}
          {lines.length.toLocaleString("en")} {lines.length === 1 ? "line" : "lines"}
        </span>
        <span className="gap" />
        <SearchBox
          label="Search the log"
          placeholder="Search the log"
          value={find}
          onChange={(next) => changeView({ find: next }, true)}
        />
        <select
          className="field"
          aria-label="Level"
          value={level}
          onChange={(event) =>
            changeView({ level: LOG_LEVELS.find((one) => one === event.target.value) ?? "debug" }, true)
          }
        >
          {LOG_LEVELS.map((one) => (
            <option key={one} value={one}>
              {one === "debug" ? "all levels" : one === "error" ? "errors" : `${one} and above`}
            </option>
          ))}
        </select>
      </header>
      {error !== null && (
        <p className={`log-error small${isAway(error) ? " soft" : ""}`}>
          {isAway(error) ? "Waiting for the API to go on." : error.message}
        </p>
      )}
      {lines.length === 0 ? (
        <p className="soft log-empty">
          {done ? "This try wrote nothing to its log." : error === null && "Nothing in the log yet."}
        </p>
      ) : shown === 0 ? (
        <p className="soft log-empty">No line matches.</p>
      ) : (
        <LogLines
          lines={lines}
          picked={picked}
          find={find}
          line={view.line}
          wrap={wrap}
          follows={follows}
          onFollow={setFollows}
        />
      )}
      {lines.length > 0 && (
        <footer className="small">
          <label>
            <input
              type="checkbox"
              checked={follows}
              onChange={(event) => {
                setFollows(event.target.checked);
                if (event.target.checked) changeView({ line: null }, true);
              }}
            />{" "}
            stay at the end
          </label>
          <label>
            <input
              type="checkbox"
              checked={wrap}
              onChange={(event) => {
                remember("wrap", event.target.checked ? "yes" : "no");
                setWrap(event.target.checked);
              }}
            />{" "}
            wrap
          </label>
          <span className="gap" />
          {view.line !== null && (
            <CopyButton label={`copy link to line ${view.line}`} text={() => location.href} />
          )}
          <CopyButton label="copy" text={text} />
          <button
            type="button"
            className="as-link link small"
            onClick={() => download(`${source.taskId}.${source.runId}.try-${source.tryNumber}.log`, text())}
          >
            download
          </button>
        </footer>
      )}
    </section>
  );
}

function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has taken hold of it by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
