/** Simplest form: the given path, or what PATH finds. */
export function findTemporalBinary(env: Readonly<Record<string, string | undefined>>): string {
  return env["TEMPORAL_CLI_PATH"] ?? "temporal";
}
