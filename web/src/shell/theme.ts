import { useState } from "react";
import { recall, remember } from "../ui/remembered.ts";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

/** `public/theme.js` applies the remembered choice before the first paint. */
export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(() => THEMES.find((one) => one === recall("theme")) ?? "system");
  const choose = (next: Theme): void => {
    remember("theme", next);
    if (next === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = next;
    setTheme(next);
  };
  return [theme, choose];
}
