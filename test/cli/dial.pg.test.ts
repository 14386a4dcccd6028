import type { AddressInfo } from "node:net";
import { serve, type ServerType } from "@hono/node-server";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { DialState, DialTurned } from "../../api/contracts-dial.ts";
import { exitCodeOf } from "../../cli/failure.ts";
import { createProgram } from "../../cli/main.ts";
import { advance } from "../../db/pools/advance.ts";
import { testApp } from "../api/support.ts";
import { AccountBook, ask } from "../support/account-book.ts";

let book: AccountBook;
let server: ServerType;
let url: string;

beforeAll(async () => {
  book = await AccountBook.make();
  const app = testApp({ db: book.db.pool });
  url = await new Promise((done) => {
    server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, (info: AddressInfo) =>
      done(`http://127.0.0.1:${info.port}`),
    );
  });
});
afterAll(async () => {
  await new Promise<void>((done) => server.close(() => done()));
  await book.db.drop();
});

/** What a command of `dial` prints. */
async function dial(...words: readonly string[]): Promise<string> {
  const printed: string[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((line = "") => void printed.push(String(line)));
  try {
    await createProgram().parseAsync(["dial", ...words, "--url", url], { from: "user" });
  } finally {
    log.mockRestore();
  }
  return printed.join("\n").trimEnd();
}
const refused = async (...words: readonly string[]): Promise<[number, string]> => {
  const error: unknown = await dial(...words).then(
    () => null,
    (e: unknown) => e,
  );
  return [exitCodeOf(error), (error as Error).message];
};

test("B16: dial set, show, undo and off on the command line, in words and as JSON", async () => {
  const run = await book.newRun();
  await advance(
    book.db.pool,
    [run],
    [],
    ["a", "b"].map((id) => ask(run, id, "default_pool")),
  );
  expect(await dial("show")).toBe("the emergency dial is off");
  expect(await refused("set", "--reason", "x")).toEqual([2, expect.stringContaining("say at least one of")]);
  expect(await refused("off", "--reason", "x")).toEqual([4, expect.stringContaining("not in force")]);
  expect(await refused("set", "--tries", "1", "--reason", " ")).toEqual([
    4,
    expect.stringContaining("reason: expected why"),
  ]);
  expect(await dial("set", "--tries", "1", "--reason", "slow", "--preempt")).toBe(
    "the emergency dial is in force: 1 try at once; 2 running, 0 held back\ntries that were asked to give their slots back: 1",
  );
  const more = ["--below-class", "standard", "--below-priority", "-5", "--reason", "worse", "--quiet"];
  expect(await dial("set", ...more)).toBe("");
  const shown = await dial("show");
  expect(shown).toContain("nothing below class standard, nothing below priority -5");
  expect(shown).toMatch(/reason {3}worse/);
  expect(shown).toContain("1 try at once");
  const state = JSON.parse(await dial("show", "--output", "json")) as DialState;
  expect(state.inForce).toMatchObject({ belowClass: "standard", belowPriority: -5, running: 2, held: 0 });
  expect(state.turns).toHaveLength(2);
  const undone = JSON.parse(await dial("undo", "--output", "json")) as DialTurned;
  expect(undone.inForce).toMatchObject({ tries: 1, belowClass: null });
  expect(await dial("off", "--reason", "over")).toBe("the emergency dial is off");
});
