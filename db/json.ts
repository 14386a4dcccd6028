/**
 * JSON text that jsonb takes: what it cannot hold (U+0000, half a surrogate pair) becomes U+FFFD. For texts that hold
 * such things by chance, as messages of errors do; what must be kept to the letter is refused where it comes in.
 */
export function storableJson(value: unknown): string {
  const text = JSON.stringify(value);
  if (!text.includes("\\u")) return text;
  return text.replaceAll(UNSTORABLE, (all, slashes: string) =>
    // An even number of backslashes is backslashes, and the letters behind them are just letters.
    slashes.length % 2 === 1 ? `${slashes.slice(1)}\ufffd` : all,
  );
}

const UNSTORABLE = /(\\+)u(?:0000|d[89a-f][0-9a-f]{2})/g;
