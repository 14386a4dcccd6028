import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { reset } from "../../../../platform/embedded/home.ts";

/** A temporary folder (mode 700, as mkdtemp makes it), emptied of servers and removed after the file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "meridian-embedded-"));
  afterAll(async () => {
    await reset(folder).catch(() => {});
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}
