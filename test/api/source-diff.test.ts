import { expect, test } from "vitest";
import { diffSources } from "../../api/source-diff.ts";

const changed = (before: string, after: string) =>
  diffSources([{ path: "x.ts", source: before }], [{ path: "x.ts", source: after }])[0]!;

test("B2: what came is all new, what went is all old", () => {
  const file = [{ path: "x.ts", source: "a\nb\n" }];
  expect(diffSources([], file)).toEqual([
    { path: "x.ts", change: "added", hunks: [{ beforeStart: 1, afterStart: 1, lines: ["+a", "+b"] }] },
  ]);
  expect(diffSources(file, [])).toEqual([
    { path: "x.ts", change: "removed", hunks: [{ beforeStart: 1, afterStart: 1, lines: ["-a", "-b"] }] },
  ]);
  expect(diffSources(file, file)).toEqual([]);
});

test("lines begin with one of three marks, also without a line's end at the end, and with Windows's", () => {
  expect(changed("a\nb", "a\nc").hunks[0]!.lines).toEqual([" a", "-b", "+c"]);
  expect(changed("a\nb\n", "a\nb").hunks[0]!.lines).toEqual([" a", "-b", "+b"]);
  expect(changed("a\r\nb\r\n", "a\nb\n").hunks[0]!.lines.every((line) => /^[ +-]/.test(line))).toBe(true);
});

test("two long texts without a common line are told as one change, in bounded time", () => {
  const text = (word: string) =>
    `same\n${Array.from({ length: 40_000 }, (_, i) => `${word} ${i}`).join("\n")}\nend\n`;
  const { hunks } = changed(text("old"), text("new"));
  expect(hunks).toHaveLength(1);
  expect(hunks[0]).toMatchObject({ beforeStart: 2, afterStart: 2 });
  expect(hunks[0]!.lines).toHaveLength(80_000);
  expect(hunks[0]!.lines.at(-1)).toBe("+new 39999");
});
