import { useState } from "react";

/** How long the button says that it is done. */
const SAID_MS = 1500;

/** Copies a text; absent where the browser allows no clipboard (plain http by another name than localhost). */
export function CopyButton({ label, text }: { readonly label: string; readonly text: () => string }) {
  const [said, setSaid] = useState(false);
  if (!window.isSecureContext) return null;
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text());
    setSaid(true);
    setTimeout(() => setSaid(false), SAID_MS);
  };
  return (
    <button type="button" className="as-link link small" onClick={() => void copy()}>
      {said ? "copied" : label}
    </button>
  );
}
