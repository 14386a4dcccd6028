interface Props {
  readonly on: boolean;
  readonly label: string;
  readonly busy?: boolean;
  /** Why it cannot be switched. */
  readonly off?: string | undefined;
  readonly onChange: (on: boolean) => void;
}

export function Switch({ on, label, busy = false, off, onChange }: Props) {
  return (
    <button
      type="button"
      role="switch"
      className="switch"
      aria-checked={on}
      aria-label={label}
      title={off ?? label}
      disabled={busy || off !== undefined}
      onClick={() => onChange(!on)}
    />
  );
}
