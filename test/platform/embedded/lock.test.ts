import { spawn } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { lockHolder, takeLock } from "../../../platform/embedded/lock.ts";
import { ownProcessId } from "../../../platform/embedded/process.ts";
import { temporaryFolder } from "./support/folders.ts";

test("a second taker is refused in one line that names pid, page and what to do", () => {
  const folder = temporaryFolder();
  const lock = takeLock(folder);
  expect(() => takeLock(folder)).toThrow(
    `Meridian is already running from ${folder} (pid ${process.pid}); stop it or set MERIDIAN_HOME to another folder`,
  );
  lock.announce("http://127.0.0.1:8080");
  expect(() => takeLock(folder)).toThrow(`(pid ${process.pid}, page http://127.0.0.1:8080)`);
  expect(lockHolder(folder)).toMatchObject({ pid: process.pid, page: "http://127.0.0.1:8080" });
  lock.release();
  expect(lockHolder(folder)).toBeNull();
  takeLock(folder).release();
  expect(readdirSync(folder)).toEqual([]);
});

test("a holder that is gone is followed, also when its pid lives on in another process", () => {
  const folder = temporaryFolder();
  writeFileSync(
    join(folder, "lock.7.json"),
    JSON.stringify({ pid: process.pid, startedAt: "long ago", page: null }),
  );
  expect(lockHolder(folder)).toBeNull();
  const lock = takeLock(folder);
  expect(readdirSync(folder)).toEqual(["lock.8.json"]);
  lock.release();
});

test("of several takers of a dead holder's folder at the same moment, one gets it", async () => {
  const folder = temporaryFolder();
  writeFileSync(
    join(folder, "lock.1.json"),
    JSON.stringify({ ...ownProcessId(), startedAt: "long ago", page: null }),
  );
  const module = new URL("../../../platform/embedded/lock.ts", import.meta.url).href;
  const script = `
    import { once } from "node:events";
    const { takeLock } = await import(${JSON.stringify(module)});
    console.log("loaded");
    await once(process.stdin, "data");
    try { takeLock(${JSON.stringify(folder)}); console.log("got"); } catch { console.log("refused"); }
    process.stdin.resume();`;
  const args = ["--import", import.meta.resolve("tsx"), "--input-type=module", "-e", script];
  const takers = Array.from({ length: 4 }, () => {
    const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
    return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
  });
  for (const { lines } of takers) expect((await lines.next()).value).toBe("loaded");
  for (const { child } of takers) child.stdin.write("go\n");
  const answers = await Promise.all(takers.map(async ({ lines }) => (await lines.next()).value as string));
  for (const { child } of takers) child.stdin.end();
  expect(answers.toSorted()).toEqual(["got", ...Array.from({ length: 3 }, () => "refused")]);
});
