/** Whether a name fits a pattern of the limits file, in which `*` stands for any text; without a pattern every name does. */
export function fitsPattern(pattern: string | undefined, name: string): boolean {
  if (pattern === undefined) return true;
  const [head, ...rest] = pattern.split("*");
  if (rest.length === 0) return name === pattern;
  if (!name.startsWith(head!)) return false;
  const tail = rest.pop()!;
  let at = head!.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length - tail.length >= at && name.endsWith(tail);
}
