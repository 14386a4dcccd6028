/** Beside the name of a group, which the keyboard stands on: there Space does the same. */
export function FoldButton({
  folded,
  label,
  onFold,
}: {
  readonly folded: boolean;
  readonly label: string;
  readonly onFold: () => void;
}) {
  return (
    <button
      type="button"
      className="fold-button"
      tabIndex={-1}
      aria-expanded={!folded}
      aria-label={`${folded ? "Open" : "Fold"} group ${label}`}
      title={folded ? "Open (Space)" : "Fold (Space)"}
      onClick={onFold}
    >
      <span aria-hidden="true">{folded ? "▸" : "▾"}</span>
    </button>
  );
}
