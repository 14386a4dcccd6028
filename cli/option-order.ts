/** `meridian --profile prod dags list`: what each command takes may stand before its name too. */

/** Options with a value that commands which talk to a server take. */
const ANYWHERE: ReadonlySet<string> = new Set(["--profile", "--url", "--output", "-o"]);

/** The arguments with such options after the command's words; all others stay where they are. */
export function optionsLast(args: readonly string[]): string[] {
  let at = 0;
  while (at < args.length) {
    const [name, value] = args[at]!.split("=", 2);
    if (!ANYWHERE.has(name!)) break;
    at += value === undefined ? 2 : 1;
  }
  const moved = args.slice(0, at);
  const rest = args.slice(at);
  // Nothing but options: commander says what is wrong with that.
  if (rest.length === 0) return moved;
  const end = rest.indexOf("--");
  return end < 0 ? [...rest, ...moved] : [...rest.slice(0, end), ...moved, ...rest.slice(end)];
}
