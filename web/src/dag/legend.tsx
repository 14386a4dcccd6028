import { TASK_STATES } from "../../../core/states.ts";
import { StateWord } from "../states/state-mark.tsx";
import { TASK_LOOK } from "../states/tables.ts";

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
    </footer>
  );
}
