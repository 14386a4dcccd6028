import { useReactFlow } from "@xyflow/react";
import { useKeys } from "../ui/use-keys.ts";

/** Beside the wheel and the fingers: by button and by key. */
export function ZoomButtons() {
  const flow = useReactFlow();
  const fit = (): void => void flow.fitView({ padding: 0.06, maxZoom: 1, minZoom: 0.02 });
  useKeys({ f: fit, "+": () => void flow.zoomIn(), "-": () => void flow.zoomOut() });
  return (
    <div className="zoom-buttons" role="group" aria-label="Zoom">
      <button type="button" aria-label="Zoom in" title="Zoom in (+)" onClick={() => void flow.zoomIn()}>
        +
      </button>
      <button type="button" aria-label="Zoom out" title="Zoom out (-)" onClick={() => void flow.zoomOut()}>
        −
      </button>
      <button type="button" aria-label="Fit the whole graph" title="Fit the whole graph (f)" onClick={fit}>
        ⤢
      </button>
    </div>
  );
}
