import { useMemo, useState } from "react";
import { newKey } from "../../../remote/http.ts";
import { TASK_LOOK } from "../states/tables.ts";
import { StateWord } from "../states/state-mark.tsx";
import { Choice } from "../ui/choice.tsx";
import { Dialog, DialogFoot } from "../ui/dialog.tsx";
import {
  ACTIONS,
  useCommand,
  usePreview,
  VERSIONS,
  type Action,
  type CellsOf,
  type Reach,
  type Version,
  type VersionNumbers,
} from "./wishes.ts";
import "./command.css";

interface Props {
  readonly of: CellsOf;
  /** What it is about, in words: `load[2]`, `group Extract`, `the run`. */
  readonly about: string;
  /** Null: there is one alone. */
  readonly versions: VersionNumbers | null;
  readonly start: Action;
  readonly onClose: () => void;
}

const WORD: Record<Action, string> = {
  clear: "Run again",
  success: "Mark success",
  failed: "Mark failed",
  skipped: "Mark skipped",
};

const VERSION_WORD: Record<Version, string> = { original: "its own", latest: "in force" };

const CHANGE_WORD = { new: "new", anew: "begins anew" } as const;

/** Rows of the preview; more are counted. */
const SHOWN = 200;

/** What is to happen to which tasks, with a preview of them: the same question the API is asked then. */
export function CommandDialog({ of, about, versions, start, onClose }: Props) {
  const [action, setAction] = useState<Action>(start);
  const isWhole = of.tasks === undefined && of.groups === undefined;
  const [reach, setReach] = useState<Reach>({ upstream: false, downstream: !isWhole, onlyFailed: isWhole });
  // A mark says what a task is; what follows it goes by its rules.
  const asked = action === "clear" ? reach : { ...reach, downstream: false };
  const [version, setVersion] = useState<Version>("original");
  const wish = { of, action, reach: asked, version };
  const preview = usePreview(wish, versions);
  const command = useCommand(of);
  // One wish, one key: pressed twice it is done once.
  const key = useMemo(newKey, [action, version, asked.upstream, asked.downstream, asked.onlyFailed]);
  const cells = preview.data?.cells ?? [];
  const { changed: count = 0, removed = 0 } = preview.data ?? {};
  const atWork = cells.filter(({ state }) => state === "running" || state === "deferred").length;
  const check = (name: keyof Reach, label: string) => (
    <label className="check">
      <input
        type="checkbox"
        checked={reach[name]}
        onChange={(event) => setReach({ ...reach, [name]: event.target.checked })}
      />
      {label}
    </label>
  );
  return (
    <Dialog title={`${WORD[action]}: ${about}`} onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          command.mutate({ ...wish, key }, { onSuccess: onClose });
        }}
      >
        <Choice label="What to do" values={ACTIONS} chosen={action} onChoose={setAction}>
          {(one) => WORD[one]}
        </Choice>
        {versions !== null && action === "clear" && (
          <div className="command-version">
            <Choice label="Version to run it with" values={VERSIONS} chosen={version} onChoose={setVersion}>
              {(one) => `Version ${versions[one]}, ${VERSION_WORD[one]}`}
            </Choice>
            {version === "latest" && (
              <span className="soft">The run has version {versions.latest} from then on.</span>
            )}
          </div>
        )}
        <div className="command-reach">
          {!isWhole && check("upstream", "what it waits for, too")}
          {!isWhole && action === "clear" && check("downstream", "what waits for it, too")}
          {check("onlyFailed", "only what failed or could not run")}
        </div>
        <div className="command-preview" aria-live="polite">
          {preview.error !== null ? (
            <p className="wrong">{preview.error.message}</p>
          ) : preview.data === undefined ? (
            <p className="soft">Looking which tasks these are …</p>
          ) : (
            <>
              <p>
                <strong>{count === 1 ? "1 task" : `${count} tasks`}</strong>
                {atWork > 0 && `; ${atWork} of them ${atWork === 1 ? "is" : "are"} under way and stopped`}
                {removed > 0 && `; ${removed} ${removed === 1 ? "is" : "are"} not in that version`}
              </p>
              <ul aria-label="Tasks it is about">
                {cells.slice(0, SHOWN).map((cell) => (
                  <li key={`${cell.taskId} ${cell.mapIndex}`}>
                    <code>{cell.mapIndex < 0 ? cell.taskId : `${cell.taskId}[${cell.mapIndex}]`}</code>
                    {cell.change === null || cell.change === "removed" ? (
                      <StateWord look={TASK_LOOK[cell.change ?? cell.state]} />
                    ) : (
                      <span className="soft">{CHANGE_WORD[cell.change]}</span>
                    )}
                  </li>
                ))}
                {cells.length > SHOWN && <li className="soft">and {cells.length - SHOWN} more</li>}
              </ul>
            </>
          )}
        </div>
        {command.error !== null && (
          <p className="wrong" role="alert">
            {command.error.message}
          </p>
        )}
        <DialogFoot
          word={WORD[action]}
          onClose={onClose}
          disabled={count === 0 || command.isPending || preview.isFetching}
          first
        />
      </form>
    </Dialog>
  );
}
