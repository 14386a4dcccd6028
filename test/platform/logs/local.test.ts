import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LogLine } from "../../../core/body.ts";
import { createLocalLogStore } from "../../../platform/logs/local.ts";
import { logPath } from "../../../platform/logs/path.ts";
import type { LogKey, LogStore } from "../../../platform/logs/store.ts";

let home = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "meridian-logs-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const RUN = "2026-05-09T00-00-00Z";
const keyOf = (over: Partial<LogKey> = {}): LogKey => ({
  dagId: "sales",
  runId: RUN,
  taskId: "load",
  mapIndex: -1,
  try: 1,
  ...over,
});
const line = (text: string, level: LogLine["level"] = "info", at = 1_778_284_800_123): LogLine => ({
  at,
  level,
  text,
});
const storeOf = (over: object = {}): LogStore => createLocalLogStore({ folder: join(home, "logs"), ...over });
const fileOf = (key = keyOf()): string => logPath(join(home, "logs"), key);

async function readAll(store: LogStore, key = keyOf()): Promise<LogLine[]> {
  const lines: LogLine[] = [];
  for (let offset = 0; ;) {
    const part = await store.read(key, offset);
    lines.push(...part.lines);
    if (part.nextOffset === offset) return lines;
    offset = part.nextOffset;
  }
}

describe("local logs: what is written", () => {
  it("reads well as a text file and comes back as it was", async () => {
    const store = storeOf();
    const lines = [
      line("plain"),
      line("oops\n  at a.ts:1\n\nend", "error"),
      line("", "debug"),
      line("  two spaces", "warn"),
    ];
    store.append(keyOf(), lines);
    await store.close(keyOf());
    expect(readFileSync(fileOf(), "utf8")).toBe(
      `2026-05-09T00:00:00.123Z INFO  plain
2026-05-09T00:00:00.123Z ERROR+3 oops
      at a.ts:1
    
    end
2026-05-09T00:00:00.123Z DEBUG 
2026-05-09T00:00:00.123Z WARN    two spaces
`,
    );
    expect(await readAll(store)).toEqual(lines);
  });

  it("keeps the order over many small appends and flushes", async () => {
    const store = storeOf({ batchMs: 1 });
    for (let i = 0; i < 2_000; i++) {
      store.append(keyOf(), [line(`line ${i}`)]);
      if (i % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
      if (i % 333 === 0) void store.flush();
    }
    await store.close(keyOf());
    expect((await readAll(store)).map((l) => l.text)).toEqual(
      Array.from({ length: 2_000 }, (_, i) => `line ${i}`),
    );
  });

  it("gives each try, index and task a file of its own, dots included", () => {
    const paths = [
      keyOf(),
      keyOf({ try: 2 }),
      keyOf({ mapIndex: 0 }),
      keyOf({ mapIndex: 1 }),
      keyOf({ taskId: "load.1" }),
      keyOf({ taskId: "load.1", try: 2 }),
      keyOf({ mapIndex: 1, try: 2 }),
    ].map((key) => fileOf(key));
    expect(new Set(paths).size).toBe(paths.length);
  });

  it("2,000 tries at once need few descriptors", async () => {
    // As a child, whose limit of open files can be set without harm to this process.
    const script = `
      import { createLocalLogStore } from ${JSON.stringify(new URL("../../../platform/logs/local.ts", import.meta.url).href)};
      const errors = [];
      const store = createLocalLogStore({ folder: ${JSON.stringify(join(home, "many"))}, onError: (e) => errors.push(e) });
      const key = (i) => ({ dagId: "d", runId: "${RUN}", taskId: "t", mapIndex: i, try: 1 });
      for (let round = 0; round < 3; round++) {
        for (let i = 0; i < 2000; i++) store.append(key(i), [{ at: 0, level: "info", text: "round " + round }]);
        await store.flush();
      }
      if (errors.length > 0) throw errors[0];
    `;
    const file = join(home, "many.mts");
    writeFileSync(file, script);
    const node = `ulimit -n 100; exec ${process.execPath} --import tsx ${file}`;
    const done = spawnSync("sh", ["-c", node], { encoding: "utf8", cwd: process.cwd() });
    expect(done.stderr).toBe("");
    expect(done.status).toBe(0);
    const folder = join(home, "many", "d", RUN);
    expect(readdirSync(folder)).toHaveLength(2_000);
    expect(readFileSync(join(folder, "t@1999.1.log"), "utf8").split("\n")).toHaveLength(4);
  });

  it("a folder taken away while it is written to is made again", async () => {
    const store = storeOf();
    store.append(keyOf(), [line("one")]);
    await store.flush();
    rmSync(join(home, "logs"), { recursive: true });
    store.append(keyOf(), [line("two")]);
    await store.close(keyOf());
    expect(await readAll(store)).toEqual([line("two")]);
  });

  it("bounds its memory and says how many lines are missing", async () => {
    const store = storeOf({ bufferChars: 1_000 });
    store.append(
      keyOf(),
      Array.from({ length: 100 }, (_, i) => line(`line ${i}`)),
    );
    await store.close(keyOf());
    const texts = (await readAll(store)).map((l) => l.text);
    expect(texts.length).toBeLessThan(40);
    expect(texts.at(-1)).toBe(
      `${100 - texts.length + 1} lines are missing here: they came faster than they could be written`,
    );
  });

  it("a try's log ends at its limit, with one word about it", async () => {
    const store = storeOf({ tryBytes: 2_000 });
    for (let i = 0; i < 10; i++) {
      store.append(keyOf(), [line("x".repeat(500))]);
      await store.flush();
    }
    const texts = (await readAll(store)).map((l) => l.text);
    expect(texts.at(-1)).toContain("the log is full");
    expect(texts.length).toBeLessThan(7);
  });

  it("tells of files that cannot be written, and the end of the try goes on", async () => {
    writeFileSync(join(home, "logs"), "a file where a folder should be");
    const errors: unknown[] = [];
    const store = storeOf({ onError: (error: unknown) => errors.push(error) });
    store.append(keyOf(), [line("lost")]);
    await store.close(keyOf());
    expect(errors.length).toBeGreaterThan(0);
  });
});

describe("local logs: what is read", () => {
  it("a log that does not exist is empty", async () => {
    expect(await storeOf().read(keyOf(), 0)).toEqual({ lines: [], nextOffset: 0, done: true });
  });

  it("follows a live try: what was appended is there at once, `done` once it is closed", async () => {
    const store = storeOf({ batchMs: 60_000 });
    store.append(keyOf(), [line("one")]);
    const first = await store.read(keyOf(), 0);
    expect(first).toMatchObject({ lines: [line("one")], done: false });
    store.append(keyOf(), [line("two")]);
    const second = await store.read(keyOf(), first.nextOffset);
    expect(second.lines).toEqual([line("two")]);
    await store.close(keyOf());
    expect(await store.read(keyOf(), second.nextOffset)).toEqual({
      lines: [],
      nextOffset: second.nextOffset,
      done: true,
    });
  });

  it("K67: a part never ends inside a character or an entry, however the file grew", async () => {
    const writer = storeOf();
    writer.append(keyOf(), [line("💼 case\nsecond 💼")]);
    await writer.close(keyOf());
    const whole = readFileSync(fileOf());
    const other = storeOf();
    for (let cut = 0; cut < whole.length; cut++) {
      writeFileSync(fileOf(), whole.subarray(0, cut));
      expect(await other.read(keyOf(), 0)).toMatchObject({ lines: [], nextOffset: 0 });
    }
    writeFileSync(fileOf(), whole);
    expect((await other.read(keyOf(), 0)).lines).toEqual([line("💼 case\nsecond 💼")]);
  });

  it("K67: a lone byte becomes one replacement character, and the rest of the log is there", async () => {
    const store = storeOf();
    store.append(keyOf(), [line("before")]);
    await store.close(keyOf());
    appendFileSync(fileOf(), Buffer.concat([Buffer.from("a"), Buffer.from([0xc6]), Buffer.from("b\n")]));
    store.append(keyOf(), [line("after 💼")]);
    await store.close(keyOf());
    const lines = await readAll(store);
    expect(lines.map((l) => l.text)).toEqual(["before", "a\ufffdb", "after 💼"]);
    expect((await store.read(keyOf(), 0)).nextOffset).toBe(readFileSync(fileOf()).length);
  });

  it("K67: a line of 5 MB comes whole, with right offsets behind it", async () => {
    const store = storeOf();
    const long = "💼".repeat(1_250_000);
    store.append(keyOf(), [line("a"), line(long), line("z")]);
    await store.close(keyOf());
    const texts = (await readAll(store)).map((l) => l.text);
    expect(texts.map((text) => text.length)).toEqual([1, 2_500_000, 1]);
    expect(texts[1] === long).toBe(true);
  });

  it("a line beyond all bounds is cut when written; a foreign one is read in pieces of whole characters", async () => {
    const store = storeOf();
    store.append(keyOf(), [line("x".repeat(9 * 1024 * 1024))]);
    await store.close(keyOf());
    expect((await readAll(store))[0]!.text).toMatch(/… \(1048576 more characters\)$/);
    writeFileSync(fileOf(), `${"ü".repeat(17 * 1024 * 1024)}\n`);
    const pieces = await readAll(store);
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.reduce((sum, l) => sum + l.text.length, 0)).toBe(17 * 1024 * 1024);
    expect(pieces.some((l) => l.text.includes("\ufffd"))).toBe(false);
  });

  it("an entry cut short by a dead writer does not swallow what another writes after it", async () => {
    const store = storeOf();
    store.append(keyOf(), [line("first\nsecond\nthird", "error")]);
    await store.close(keyOf());
    const whole = readFileSync(fileOf());
    writeFileSync(fileOf(), whole.subarray(0, whole.length - 12));
    const next = storeOf();
    next.append(keyOf(), [line("again\nand more")]);
    await next.close(keyOf());
    const texts = (await readAll(next)).map((l) => l.text);
    expect(texts).toEqual(
      ["first\nsecon", "again\nand more"].map((text) => expect.stringContaining(text.slice(0, 5))),
    );
    expect(texts[1]).toBe("again\nand more");
  });

  it("odd offsets are harmless", async () => {
    const store = storeOf();
    store.append(keyOf(), [line("💼💼")]);
    await store.close(keyOf());
    const size = readFileSync(fileOf()).length;
    for (const offset of [-1, Number.NaN, 1.5, size + 10, 1e15, size - 3]) {
      expect((await store.read(keyOf(), offset)).nextOffset).toBe(size);
    }
  });
});

describe("K69: no id leads outside the log folder", () => {
  const odd = [
    "..",
    "../x",
    "%2e%2e%2f",
    "..\\x",
    "a\0b",
    "a/b",
    "/etc",
    "",
    ".",
    "a..b",
    ".a",
    "a.",
    "x".repeat(201),
  ];
  const keys = [
    ...odd.flatMap((id) => [keyOf({ dagId: id }), keyOf({ taskId: id }), keyOf({ runId: id })]),
    keyOf({ mapIndex: -2 }),
    keyOf({ mapIndex: 1.5 }),
    keyOf({ mapIndex: "../../x" as unknown as number }),
    keyOf({ try: 0 }),
    keyOf({ try: "1/../../../x" as unknown as number }),
  ];

  it.each(keys.map((key) => [JSON.stringify(key), key] as const))("%s", async (_title, key) => {
    writeFileSync(join(home, "x"), "outside");
    const store = storeOf();
    await expect(store.read(key, 0)).rejects.toMatchObject({ kind: "refused", code: "bad_id" });
    expect(() => store.append(key, [line("x")])).toThrow(/not allowed/);
    await expect(store.close(key)).rejects.toThrow(/not allowed/);
    expect(existsSync(join(home, "logs"))).toBe(false);
    expect(readdirSync(home)).toEqual(["x"]);
  });

  it("the path of good ids lies inside", () => {
    expect(dirname(fileOf())).toBe(join(home, "logs", "sales", RUN));
  });
});
