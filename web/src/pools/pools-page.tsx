import { lazy, Suspense } from "react";
import { Loading } from "../ui/notice.tsx";

const PoolsView = lazy(async () => ({ default: (await import("./pools-view.tsx")).PoolsView }));

export function PoolsPage() {
  return (
    <Suspense fallback={<Loading what="pools" />}>
      <PoolsView />
    </Suspense>
  );
}
