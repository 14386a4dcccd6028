import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { serverOf } from "../../cli/connect.ts";
import { profilesFile, readProfiles, writeProfiles } from "../../cli/profiles.ts";

const MERIDIAN = fileURLToPath(new URL("../../cli/meridian.mjs", import.meta.url));
let folder: string;
let env: Record<string, string>;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "profiles-"));
  env = { XDG_CONFIG_HOME: folder };
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const TOKEN = "tok-3nsecret";
const PROD = { url: "https://prod.example", token: TOKEN };
const TEST = { url: "https://test.example" };

describe("F6: which server a command talks to", () => {
  it("the nearest word: option, environment, data folder named, what was chosen, data folder here", () => {
    const home = join(folder, "home");
    mkdirSync(home);
    writeFileSync(join(home, "api-url"), JSON.stringify({ url: "http://127.0.0.1:7", pid: process.pid }));
    writeProfiles({ current: "prod", profiles: { prod: PROD, test: TEST } }, env);
    const all = {
      ...env,
      MERIDIAN_API_URL: "http://by-env",
      MERIDIAN_API_TOKEN: "t",
      MERIDIAN_PROFILE: "test",
      MERIDIAN_HOME: home,
    };
    const { MERIDIAN_API_URL: _url, ...noUrl } = all;
    const { MERIDIAN_PROFILE: _profile, ...noProfile } = noUrl;
    const { MERIDIAN_HOME: _home, ...chosen } = noProfile;
    expect(serverOf({ url: "http://by-option" }, all)).toMatchObject({ url: "http://by-option", token: "t" });
    expect(serverOf({ profile: "prod" }, all)).toMatchObject(PROD);
    expect(serverOf({}, all)).toMatchObject({ url: "http://by-env", token: "t" });
    expect(serverOf({}, noUrl)).toEqual({ ...TEST, from: "MERIDIAN_PROFILE" });
    expect(serverOf({}, noProfile)).toMatchObject({ url: "http://127.0.0.1:7", from: "MERIDIAN_HOME" });
    expect(serverOf({}, chosen)).toEqual({ ...PROD, from: "profile prod" });
    expect(() => serverOf({ url: "http://x", profile: "prod" }, all)).toThrow("give one of them");
    expect(() => serverOf({ profile: "prd" }, all)).toThrow('did you mean "prod"?');
    expect(() => serverOf({ profile: "toString" }, all)).toThrow('no profile "toString"');
  });

  it("a token goes to the address it was given for, and to no other", () => {
    writeProfiles({ current: "prod", profiles: { prod: PROD, test: TEST } }, env);
    expect(serverOf({ url: "http://elsewhere" }, env).token).toBeUndefined();
    expect(serverOf({ profile: "test" }, { ...env, MERIDIAN_API_TOKEN: "of another" }).token).toBeUndefined();
  });

  it("the file is the user's alone, also when it was open before; what is not ours is refused", () => {
    const path = profilesFile(env);
    mkdirSync(join(folder, "meridian"));
    writeFileSync(path, "{}", { mode: 0o644 });
    expect(() => readProfiles(env)).toThrow("is not as `meridian profile set` writes it");
    writeProfiles({ current: null, profiles: { prod: PROD } }, env);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    chmodSync(path, 0o640);
    expect(() => readProfiles(env)).toThrow(`chmod 600 ${path}`);
  });
});

describe("F6: meridian profile", { timeout: 60_000 }, () => {
  const run = (args: readonly string[], input = "") => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [MERIDIAN, "profile", ...args], {
      input,
      encoding: "utf8",
      env: { PATH: process.env["PATH"], HOME: folder, ...env },
    });
    expect(stdout + stderr, "a token is never printed").not.toContain(TOKEN);
    return { code: status, stdout, stderr };
  };

  it("set, use, list, delete; the token comes by stdin, stays with its address, and is not printed", () => {
    expect(run(["set", "prod"]).code).toBe(2);
    expect(run(["set", "a b", "--url", "http://x"]).code).toBe(2);
    expect(run(["set", "prod", "--url", PROD.url, "--token-stdin"], `${TOKEN}\n`).code).toBe(0);
    expect(run(["use", "prod"]).stderr).toBe("commands talk to prod now\n");
    expect(JSON.parse(run(["list", "--output", "json"]).stdout)).toEqual([
      { name: "prod", url: PROD.url, token: "set", current: true },
    ]);
    expect(readFileSync(profilesFile(env), "utf8")).toContain(TOKEN);
    expect(run(["set", "prod", "--url", TEST.url]).stderr).toContain("is forgotten");
    expect(readFileSync(profilesFile(env), "utf8")).not.toContain(TOKEN);
    expect(run(["use", "prd"]).code).toBe(3);
    expect(JSON.parse(run(["delete", "prod", "--output", "json"]).stdout)).toEqual({
      name: "prod",
      deleted: true,
    });
    expect(readProfiles(env)).toEqual({ current: null, profiles: {} });
  });
});
