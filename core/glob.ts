/** Whether a pattern is all of a text: `*` is any number of characters, `?` is one. Takes time by the product of both lengths at the most. */
export function globMatches(pattern: string, text: string): boolean {
  let p = 0;
  let t = 0;
  /** The last `*`, and how much of the text it has taken so far. */
  let star = -1;
  let taken = 0;
  while (t < text.length) {
    if (pattern[p] === "*") {
      star = p++;
      taken = t;
    } else if (p < pattern.length && (pattern[p] === "?" || pattern[p] === text[t])) {
      p++;
      t++;
    } else if (star >= 0) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  while (pattern[p] === "*") p++;
  return p === pattern.length;
}
