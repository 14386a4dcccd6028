/**
 * Numbers from 0 up to 1 that look random, and are the same for the same text. Data made of them are the same in every
 * run, try and process, as data read from a source would be.
 */
export function madeUp(seed: string): () => number {
  let state = 2_166_136_261;
  for (const char of seed) state = Math.imul(state ^ char.codePointAt(0)!, 16_777_619);
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
