import { useReactFlow } from "@xyflow/react";
import { useKeys } from "../ui/use-keys.ts";
import type { Flow } from "./layout.ts";

/** Beside the wheel and the fingers: by button and by key. */
interface Props {
  readonly flow: Flow;
  readonly onFlow: (flow: Flow) => void;
}

export function ZoomButtons({ flow: direction, onFlow }: Props) {
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
      <button
        type="button"
        aria-label={direction === "right" ? "Let work flow downwards" : "Let work flow to the right"}
        title={direction === "right" ? "Let work flow downwards" : "Let work flow to the right"}
        onClick={() => onFlow(direction === "right" ? "down" : "right")}
      >
        {direction === "right" ? "↓" : "→"}
      </button>
    </div>
  );
}
