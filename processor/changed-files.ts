import { execFile } from "node:child_process";
import { realpathSync } from "node:fs";
import { basename, resolve } from "node:path";
import { promisify } from "node:util";
import { inParallel } from "../core/in-parallel.ts";
import { Refused } from "../core/errors.ts";
import { bundleOne } from "./examine.ts";

const run = promisify(execFile);

/** By a change of one of these, packages may resolve otherwise: every file is to be looked at. */
const OF_PACKAGES = new Set(["package.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock"]);

/**
 * Of these files (relative to `folder`), those that changed since a commit, or import something that did; also what is
 * not committed yet. A file that does not bundle is among them: what it imports is not known.
 */
export async function changedSince(
  ref: string,
  folder: string,
  files: readonly string[],
): Promise<readonly string[]> {
  const root = realpathSync(folder);
  const changed = await changedPaths(ref, root);
  if ([...changed].some((path) => OF_PACKAGES.has(basename(path)))) return files;
  const found = new Set<string>();
  await inParallel(files, 32, async (file) => {
    const { inputs, bundle } = await bundleOne(root, file);
    if (bundle === null || inputs.some((input) => changed.has(input))) found.add(file);
  });
  return files.filter((file) => found.has(file));
}

/** Absolute paths. Since the branch began, that is: what others did to `ref` meanwhile does not count. */
async function changedPaths(ref: string, folder: string): Promise<ReadonlySet<string>> {
  const git = async (...args: string[]): Promise<string> => {
    const { stdout } = await run("git", ["-C", folder, ...args], { maxBuffer: 64 * 1024 * 1024 });
    return stdout;
  };
  const refused = (error: unknown): never => {
    const { stderr, message } = error as { stderr?: string; message: string };
    throw new Refused(
      "bad_ref",
      `--changed-since ${ref}: git says "${(stderr ?? message).trim().split("\n")[0]}"; expected a commit, branch or ` +
        "tag of the repository that holds the DAG files (a shallow clone may lack it: fetch with its history)",
    );
  };
  if (ref.startsWith("-")) refused({ message: "no such commit" });
  const top = (await git("rev-parse", "--show-toplevel").catch(refused)).trim();
  const base = (await git("merge-base", ref, "HEAD").catch(refused)).trim();
  const listed = await Promise.all([
    git("diff", "--name-only", "-z", "--no-renames", base),
    git("ls-files", "--others", "--exclude-standard", "--full-name", "-z", ":/"),
  ]);
  return new Set(
    listed
      .flatMap((text) => text.split("\0"))
      .filter((name) => name !== "")
      .map((name) => resolve(top, name)),
  );
}
