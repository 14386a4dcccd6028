import type { TryWait } from "../../../api/contracts-waits.ts";
import { Relative } from "../time/when.tsx";
import { endInWords } from "./words.ts";

/** How a wait ended, and when. */
export function EndOf({ wait }: { readonly wait: TryWait }) {
  return (
    <>
      {endInWords(wait)}
      {wait.endedAt !== null && (
        <>
          , <Relative at={Date.parse(wait.endedAt)} />
        </>
      )}
    </>
  );
}
