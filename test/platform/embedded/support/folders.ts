import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { reset } from "../../../../platform/embedded/home.ts";

const made: string[] = [];

/** A temporary folder (mode 700, as mkdtemp makes it), emptied of servers and removed after the file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "meridian-embedded-"));
  made.push(folder);
  return folder;
}

// Here and not inside `temporaryFolder`: a hook that is asked for within a test is never run.
afterAll(async () => {
  for (const folder of made) {
    for (const name of readdirSync(folder)) await reset(join(folder, name)).catch(() => {});
    rmSync(folder, { recursive: true, force: true });
  }
});
