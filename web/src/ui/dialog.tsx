import { useId, useLayoutEffect, useRef, type ReactNode } from "react";

interface Props {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/**
 * The browser's own modal dialog: it keeps the focus inside, closes on Escape and gives the focus back. It opens with
 * the focus on what is marked `data-first` (React's autoFocus comes before the dialog is shown, which then takes it away).
 */
export function Dialog({ title, onClose, children }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // Before it is painted, and closed before it is taken away: else the browser does not know where the focus was.
  useLayoutEffect(() => {
    const dialog = ref.current;
    if (dialog !== null && !dialog.open) {
      dialog.showModal();
      dialog.querySelector<HTMLElement>("[data-first]")?.focus();
    }
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      className="dialog"
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === ref.current) onClose();
      }}
    >
      <div className="dialog-body">
        <div className="dialog-head">
          <h2 id={titleId}>{title}</h2>
          <button type="button" className="button plain" onClick={onClose} aria-label="Close">
            ✕
          </button>
        </div>
        {children}
      </div>
    </dialog>
  );
}

interface FootProps {
  readonly word: string;
  readonly onClose: () => void;
  readonly disabled: boolean;
  /** Whether the dialog opens with the focus on the button that sends it. */
  readonly first?: boolean;
}

/** The end of a dialog's form: leave it, or send it. */
export function DialogFoot({ word, onClose, disabled, first }: FootProps) {
  return (
    <div className="dialog-foot">
      <button type="button" className="button" onClick={onClose}>
        Cancel
      </button>
      <button type="submit" className="button primary" data-first={first} disabled={disabled}>
        {word}
      </button>
    </div>
  );
}
