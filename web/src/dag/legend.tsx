import { TASK_STATES } from "../../../core/states.ts";
import { StateWord } from "../states/state-mark.tsx";
import { RUN_TYPE_SIGN, RUN_TYPE_WORD, TASK_LOOK } from "../states/tables.ts";

export function Legend() {
  return (
    <footer className="legend small" aria-label="States">
      {TASK_STATES.map((state) => (
        <StateWord key={state} look={TASK_LOOK[state]} />
      ))}
      <span className="state-word">
        <span className="retry-dot" aria-hidden="true" />
        took more than one try
      </span>
      <span className="state-word">
        <span className="kind-sign" aria-hidden="true">
          {RUN_TYPE_SIGN.manual}
        </span>
        {RUN_TYPE_WORD.manual}
      </span>
      <span className="state-word">
        <span className="cut-sign" aria-hidden="true" />
        took longer than the scale
      </span>
    </footer>
  );
}
