/** What a start builds when it is missing or stale. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Life } from "../platform/life.ts";
import { isPageBuilt } from "../web/build-if-stale.ts";
import { isBundleBuilt } from "../worker/bundle.ts";

const BUILD = fileURLToPath(new URL("./build.mjs", import.meta.url));

/** The page and the workflow bundle, in a process of their own: bundlers keep hundreds of MiB as long as theirs lives. */
export async function buildApart(life: Life, say: (line: string) => void): Promise<void> {
  if (isPageBuilt() && isBundleBuilt()) return;
  const child = spawn(process.execPath, [BUILD, "--for-start"], { stdio: ["ignore", "pipe", "pipe"] });
  life.onEnd("build", () => void child.kill("SIGKILL"));
  createInterface({ input: child.stdout }).on("line", say);
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (complaint += text));
  await new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`building failed (${signal ?? `exit code ${code}`}): ${complaint.trim()}`));
    });
  });
}
