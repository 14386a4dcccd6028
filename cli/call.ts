type Env = Readonly<Record<string, string | undefined>>;

/** A command as it would be typed where this one was: by npm's script in the clone, by npx, or by its name. */
export function called(words: string, env: Env = process.env): string {
  // What npx runs may run further commands, this one among them: its script says what it was called for.
  const script = env["npm_lifecycle_script"] ?? "";
  if (env["npm_lifecycle_event"] === "npx" && /^\W?meridian\b/.test(script)) return `npx meridian ${words}`;
  const byScript = env["npm_package_name"] === "meridian" && env["npm_lifecycle_event"] === "meridian";
  return byScript ? `npm run meridian -- ${words}` : `meridian ${words}`;
}

/** How the whole product is started here: `npm start` is of the clone, a project that has the package has no such script. */
export function startCall(env: Env = process.env, code = import.meta.url): string {
  const byPackage = /[\\/]node_modules[\\/]/.test(code) || called("", env).startsWith("npx ");
  return byPackage ? "npx meridian start" : "npm start";
}
