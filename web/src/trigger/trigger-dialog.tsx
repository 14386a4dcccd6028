import { lazy, Suspense } from "react";
import type { TriggerProps } from "./trigger-form.tsx";

// Read when it is first asked for: the grid does without it.
const TriggerForm = lazy(async () => ({ default: (await import("./trigger-form.tsx")).TriggerForm }));

export function TriggerDialog(props: TriggerProps) {
  return (
    <Suspense fallback={null}>
      <TriggerForm {...props} />
    </Suspense>
  );
}
