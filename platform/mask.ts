/** Replaces every connection value, and every password inside one, by `***` (A13). */
export type Mask = (text: string) => string;

/** Shorter ones would hide innocent text, and are no secrets worth the name. */
const SHORTEST = 5;

export function maskOf(connections: Readonly<Record<string, string>>): Mask {
  const secrets = new Set<string>();
  const add = (text: string): void => {
    if (text.length < SHORTEST) return;
    secrets.add(text);
    // A secret with quotes, as it looks inside JSON text.
    secrets.add(JSON.stringify(text).slice(1, -1));
  };
  for (const value of Object.values(connections)) {
    add(value);
    if (!URL.canParse(value)) continue;
    const { password } = new URL(value);
    add(password);
    add(decoded(password));
  }
  if (secrets.size === 0) return (text) => text;
  const longestFirst = [...secrets].sort((a, b) => b.length - a.length);
  const pattern = new RegExp(
    longestFirst.map((text) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"),
    "g",
  );
  return (text) => text.replaceAll(pattern, "***");
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
