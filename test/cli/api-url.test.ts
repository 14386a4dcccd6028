import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { rememberApi, runningApi } from "../../cli/api-url.ts";
import { readConfig, type Config } from "../../platform/config.ts";

let home: string;
let config: Config;
const file = (): string => join(home, "api-url");
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "api-url-"));
  config = readConfig({ MERIDIAN_HOME: home });
});
afterAll(() => rmSync(home, { recursive: true, force: true }));
beforeEach(() => rmSync(file(), { force: true }));

const remembered = (): unknown => JSON.parse(readFileSync(file(), "utf8"));
/** Of a process that certainly lives, and is not this one; and of none. */
const LIVING = process.ppid;
const GONE = 2 ** 22 + 1;

describe("C1: where commands find the API", () => {
  it("the first live one of the folder; a second leaves its address alone, and the end takes it back", () => {
    writeFileSync(file(), JSON.stringify({ url: "http://127.0.0.1:1", pid: LIVING }));
    rememberApi(config, "http://127.0.0.1:2")();
    expect(remembered()).toEqual({ url: "http://127.0.0.1:1", pid: LIVING });
    writeFileSync(file(), JSON.stringify({ url: "http://127.0.0.1:1", pid: GONE }));
    const forget = rememberApi(config, "http://127.0.0.1:2");
    expect(remembered()).toEqual({ url: "http://127.0.0.1:2", pid: process.pid });
    forget();
    expect(() => remembered()).toThrow("ENOENT");
  });

  it("where none runs, that is said, and nobody else is asked", () => {
    const none = expect.objectContaining({ code: "no_api", message: expect.stringContaining(home) });
    expect(() => runningApi(home)).toThrow(none);
    expect(() => runningApi(home)).toThrow("start one (`npm start`), or name one");
    writeFileSync(file(), JSON.stringify({ url: "http://127.0.0.1:1", pid: GONE }));
    expect(() => runningApi(home)).toThrow(none);
    writeFileSync(file(), "http://127.0.0.1:1\n");
    expect(() => runningApi(home)).toThrow(none);
  });
});
