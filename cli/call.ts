type Env = Readonly<Record<string, string | undefined>>;

/** A command as it would be typed where this one was: by npm's script in the clone, by npx, or by its name. */
export function called(words: string, env: Env = process.env): string {
  if (env["npm_lifecycle_event"] === "npx") return `npx meridian ${words}`;
  const byScript = env["npm_package_name"] === "meridian" && env["npm_lifecycle_event"] === "meridian";
  return byScript ? `npm run meridian -- ${words}` : `meridian ${words}`;
}
