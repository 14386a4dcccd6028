const UNITS: readonly (readonly [ms: number, word: string])[] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1_000, "s"],
  [1, "ms"],
];

/** A span in its two largest units, rounded up: `2 h 5 min`, `45 s`, `250 ms`. */
export function spanInWords(ms: number): string {
  const whole = Math.max(0, Math.ceil(ms));
  const first = UNITS.findIndex(([size]) => whole >= size);
  if (first < 0) return "0 ms";
  const [size, word] = UNITS[first]!;
  const [smallSize, smallWord] = UNITS[first + 1] ?? [1, "ms"];
  // Of seconds, milliseconds say nothing.
  const unit = word === "s" ? size : smallSize;
  const rounded = Math.ceil(whole / unit) * unit;
  if (rounded >= (UNITS[first - 1]?.[0] ?? Infinity)) return spanInWords(rounded);
  const rest = (rounded % size) / smallSize;
  const head = `${Math.floor(rounded / size)} ${word}`;
  return rest === 0 || word === "s" || word === "ms" ? head : `${head} ${rest} ${smallWord}`;
}
