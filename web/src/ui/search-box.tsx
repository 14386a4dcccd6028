import { useEffect, useRef, useState } from "react";

interface Props {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
}

/** Long enough to let a word be typed, short enough to feel live. */
const SETTLE_MS = 150;

/** What begins going back, a reload or another tab: a URL written after it comes too late for it. */
const ENDS_TYPING = new Set(["Enter", "Alt", "Control", "Meta", "F5"]);

/** A search that follows the typing a little later, and at once when the typing ends: nobody loses its last letters. */
export function SearchBox({ label, placeholder, value, onChange }: Props) {
  const [text, setText] = useState(value);
  const sent = useRef(value);
  /** What was typed and is not sent yet. */
  const typed = useRef<string | null>(null);
  const send = (): void => {
    const next = typed.current;
    typed.current = null;
    if (next === null || next === sent.current) return;
    sent.current = next;
    onChange(next);
  };
  // The page is drawn anew while someone types, which must not put the search off.
  const latest = useRef(send);
  useEffect(() => {
    latest.current = send;
  });
  useEffect(() => {
    // The URL changed by other means (back, a link): follow it.
    if (value === sent.current) return;
    sent.current = value;
    typed.current = null;
    setText(value);
  }, [value]);
  useEffect(() => {
    const timer = setTimeout(() => latest.current(), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  useEffect(() => {
    // For whoever comes back to the page that is left; a reload takes the URL that was there before this.
    const onLeave = (): void => latest.current();
    window.addEventListener("beforeunload", onLeave);
    return () => window.removeEventListener("beforeunload", onLeave);
  }, []);
  return (
    <input
      type="search"
      className="field search"
      data-search
      aria-label={label}
      placeholder={placeholder}
      title="Press / to come here"
      value={text}
      spellCheck={false}
      autoComplete="off"
      onChange={(event) => {
        typed.current = event.target.value;
        setText(event.target.value);
      }}
      onBlur={send}
      onKeyDown={(event) => {
        if (event.key === "Escape") event.currentTarget.blur();
        if (ENDS_TYPING.has(event.key)) send();
      }}
    />
  );
}
