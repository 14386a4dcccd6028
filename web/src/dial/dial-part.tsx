import { useState } from "react";
import type { DialTurn } from "../../../api/contracts-dial.ts";
import { When } from "../time/when.tsx";
import { Answer } from "../ui/answer.tsx";
import { LiftDial, TurnDial } from "./dial-dialogs.tsx";
import { useDial, useTurn } from "./queries.ts";
import { boundsInWords } from "./words.ts";
import "./dial.css";

/** The emergency dial on the page of pools: what is in force, and the buttons that change it. */
export function DialPart() {
  const [asked, setAsked] = useState<"set" | "off" | null>(null);
  const undo = useTurn();
  const close = (): void => setAsked(null);
  return (
    <Answer query={useDial()} what="the emergency dial">
      {({ inForce, turns }) => (
        <section className="dial" aria-label="Emergency dial">
          <div className="dial-head">
            <h2>Emergency dial</h2>
            <span className={inForce === null ? "soft" : "dial-on"}>
              {inForce === null ? "Off: pools and limits alone decide" : boundsInWords(inForce)}
            </span>
            {inForce !== null && (
              <span className="soft small number">
                {inForce.running} running, {inForce.held} held back
              </span>
            )}
            <span className="gap" />
            <button type="button" className="button" onClick={() => setAsked("set")}>
              Turn the dial
            </button>
            {inForce !== null && (
              <button type="button" className="button" onClick={() => setAsked("off")}>
                Lift it
              </button>
            )}
            {turns.length > 0 && (
              <button
                type="button"
                className="button"
                disabled={undo.isPending}
                title={`As it was before: ${turns[1] === undefined ? "off" : boundsInWords(turns[1])}`}
                onClick={() => undo.mutate({ kind: "undo" })}
              >
                Undo
              </button>
            )}
          </div>
          {undo.error !== null && (
            <p className="error-block" role="alert">
              {undo.error.message}
            </p>
          )}
          {turns.length > 0 && <Turns turns={turns} />}
          {asked === "set" && <TurnDial inForce={inForce} onClose={close} />}
          {asked === "off" && <LiftDial onClose={close} />}
        </section>
      )}
    </Answer>
  );
}

function Turns({ turns }: { readonly turns: readonly DialTurn[] }) {
  return (
    <details>
      <summary className="soft small">Last turns</summary>
      <ol className="dial-turns small">
        {turns.map((turn) => (
          <li key={turn.id}>
            <When at={Date.parse(turn.at)} /> {turn.who}: {boundsInWords(turn)}
            <span className="soft"> · {turn.reason}</span>
          </li>
        ))}
      </ol>
    </details>
  );
}
