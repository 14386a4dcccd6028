/**
 * JSON text that jsonb takes: what it cannot hold (U+0000, half a surrogate pair) becomes U+FFFD. For texts that hold
 * such things by chance, as messages of errors do; what must be kept to the letter is refused where it comes in.
 */
export function storableJson(value: unknown): string {
  return cleaned(JSON.stringify(value));
}

/** Whether jsonb takes it to the letter. */
export function isStorable(value: unknown): boolean {
  const text = JSON.stringify(value);
  return cleaned(text) === text;
}

function cleaned(text: string): string {
  if (!text.includes("\\u")) return text;
  return text.replaceAll(UNSTORABLE, (all, slashes: string) =>
    // An even number of backslashes is backslashes, and the letters behind them are just letters.
    slashes.length % 2 === 1 ? `${slashes.slice(1)}\ufffd` : all,
  );
}

/** Rows with their outputs as JSON text: within a value of jsonb an object would lose the order of its keys. */
export function withOutputText<R extends { readonly output: unknown }>(rows: readonly R[]) {
  return rows.map((row) => ({ ...row, output: row.output === null ? null : JSON.stringify(row.output) }));
}

const UNSTORABLE = /(\\+)u(?:0000|d[89a-f][0-9a-f]{2})/g;
