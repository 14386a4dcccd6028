interface Props {
  readonly on: boolean;
  readonly label: string;
  readonly busy?: boolean;
  readonly onChange: (on: boolean) => void;
}

export function Switch({ on, label, busy = false, onChange }: Props) {
  return (
    <button
      type="button"
      role="switch"
      className="switch"
      aria-checked={on}
      aria-label={label}
      title={label}
      disabled={busy}
      onClick={() => onChange(!on)}
    />
  );
}
