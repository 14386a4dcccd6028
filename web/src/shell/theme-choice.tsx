import { THEMES, useTheme, type Theme } from "./theme.ts";

const ICON: Record<Theme, string> = { system: "◐", light: "☀", dark: "☾" };

/** One button that goes round: as the system says, light, dark. */
export function ThemeChoice() {
  const [theme, choose] = useTheme();
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "system";
  const label = `Theme: ${theme}. Switch to ${next}`;
  return (
    <button
      type="button"
      className="button plain"
      onClick={() => choose(next)}
      aria-label={label}
      title={label}
    >
      <span aria-hidden="true">{ICON[theme]}</span>
    </button>
  );
}
