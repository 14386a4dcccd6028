import type { ReactNode } from "react";
import type { Try } from "../../../api/contracts.ts";
import { formatDuration } from "../time/format.ts";
import { EndOf } from "../waits/end-of.tsx";
import { Reason } from "../time/reason.tsx";
import { FOR } from "../waits/words.ts";

/** More are counted. */
const SHOWN = 5;

/** Why a try waited for its slots, each reason with its length. */
export function Waited({ waited }: Pick<Try, "waited">) {
  return (
    <Spans
      spans={waited.map(({ reason, since, until }) => ({
        key: since,
        from: since,
        to: until,
        why: (
          <>
            : <Reason text={reason} />
          </>
        ),
      }))}
    />
  );
}

/** What a try waited for without a slot, as far as that is over. */
export function Deferred({ waits }: Pick<Try, "waits">) {
  return (
    <Spans
      spans={waits.flatMap((wait) => {
        const { since, endedAt } = wait;
        if (endedAt === null) return [];
        const why = (
          <>
            {" "}
            for {FOR[wait.kind]}: <EndOf wait={wait} />
          </>
        );
        return [{ key: String(wait.wait), from: since ?? endedAt, to: endedAt, why }];
      })}
    />
  );
}

interface Span {
  readonly key: string;
  readonly from: string;
  readonly to: string;
  readonly why: ReactNode;
}

function Spans({ spans }: { readonly spans: readonly Span[] }) {
  const left = spans.length - SHOWN;
  return (
    <ul className="spans">
      {left > 0 && <li className="soft">{left} before these</li>}
      {spans.slice(-SHOWN).map(({ key, from, to, why }) => (
        <li key={key}>
          <span className="number">{formatDuration(Date.parse(to) - Date.parse(from))}</span>
          {why}
        </li>
      ))}
    </ul>
  );
}
