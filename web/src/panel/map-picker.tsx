import type { Cell } from "../../../api/contracts.ts";
import { changeView } from "../routing/use-route.ts";
import { TASK_LOOK } from "../states/tables.ts";

export function MapPicker({
  instances,
  picked,
}: {
  readonly instances: readonly Cell[];
  readonly picked: number | null;
}) {
  return (
    <label className="map-picker">
      <span className="soft">Instance</span>
      <select
        className="field"
        value={picked ?? ""}
        onChange={(event) => changeView({ mapIndex: Number(event.target.value), tryNumber: null })}
      >
        {instances.map((cell) => (
          <option key={cell.mapIndex} value={cell.mapIndex}>
            {cell.mapIndex}
            {cell.mapLabel === undefined ? "" : ` ${cell.mapLabel}`}: {TASK_LOOK[cell.state].word}
          </option>
        ))}
      </select>
    </label>
  );
}
