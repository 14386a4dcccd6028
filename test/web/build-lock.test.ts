import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lockFile } from "../../web/build-lock.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "lock-"));
  path = join(folder, ".lock");
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("the page is built by one at a time", () => {
  test("the second waits until the first gives it back", async () => {
    const first = await lockFile(path);
    let held = true;
    const second = lockFile(path).then((unlock) => {
      expect(held).toBe(false);
      return unlock;
    });
    await new Promise((resolve) => setTimeout(resolve, 300));
    held = false;
    first();
    (await second)();
    expect(existsSync(path)).toBe(false);
  });

  test("one that a killed process left, or a stranger has held for too long, holds nobody up", async () => {
    const dead = execFileSync(process.execPath, ["-p", "process.pid"], { encoding: "utf8" });
    for (const left of [dead.trim(), String(process.pid), ""]) {
      writeFileSync(path, left);
      if (left !== dead.trim()) utimesSync(path, 1, 1);
      const began = Date.now();
      (await lockFile(path))();
      expect(Date.now() - began).toBeLessThan(2000);
    }
  });
});
