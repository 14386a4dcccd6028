import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { resetCommand } from "../../cli/reset.ts";
import { ROOT } from "../support/product.ts";

const made: string[] = [];
let home: string;
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), "meridian-start-"));
  made.push(folder);
  home = join(folder, "home");
});
afterAll(() => made.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

function meridian(args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [join(ROOT, "cli/meridian.mjs"), ...args], {
    cwd: ROOT,
    // A group of its own, so that a signal to all of it, as of a terminal, does not reach the tests.
    detached: true,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], MERIDIAN_HOME: home, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const ended = new Promise<{ code: number | null; output: string }>((done) =>
    child.once("close", (code) => done({ code, output })),
  );
  return { child, ended };
}

describe("a start that cannot be", () => {
  it.each(["MERIDIAN_PORT", "MERIDIAN_POSTGRES_PORT", "MERIDIAN_TEMPORAL_PORT", "MERIDIAN_TEMPORAL_UI_PORT"])(
    "a taken port that was set by %s is refused before a data folder is made",
    async (setting) => {
      const server = createServer();
      await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
      const { port } = server.address() as AddressInfo;
      try {
        const { code, output } = await meridian(["start"], { [setting]: String(port) }).ended;
        expect(output).toContain(`port ${port}`);
        expect(output).toContain(setting);
        expect(output).not.toContain("is starting");
        expect(code).not.toBe(0);
        expect(existsSync(home)).toBe(false);
      } finally {
        server.close();
      }
    },
  );

  it("two parts are not given one port", async () => {
    const { output } = await meridian(["start"], {
      MERIDIAN_POSTGRES_PORT: "45431",
      MERIDIAN_TEMPORAL_PORT: "45431",
    }).ended;
    expect(output).toContain("MERIDIAN_TEMPORAL_PORT");
    expect(existsSync(home)).toBe(false);
  });
});

it("a stop while the database is made for the first time is a stop, and no failure", async () => {
  const { child, ended } = meridian(["start"]);
  const postgres = join(home, "postgres");
  const isMaking = (): boolean =>
    existsSync(postgres) && readdirSync(postgres).some((name) => name.startsWith("data.new."));
  for (const until = Date.now() + 30_000; !isMaking() && Date.now() < until;) await sleep(10);
  expect(isMaking()).toBe(true);
  process.kill(-child.pid!, "SIGTERM");
  const { code, output } = await ended;
  expect(output).toContain("Stopped. The next start finds its data.");
  expect(output).not.toMatch(/initdb|free the disk/);
  expect(code).toBe(0);
});

describe("reset", () => {
  it("says what it removed, and that there was nothing", async () => {
    mkdirSync(join(home, "logs"), { recursive: true });
    writeFileSync(join(home, "meridian.json"), `{"found": ["mine.txt"]}`);
    writeFileSync(join(home, "mine.txt"), "");
    const first = await meridian(["reset"]).ended;
    expect(first).toEqual({ code: 0, output: `${home}: removed logs, meridian.json\n` });
    expect(readdirSync(home)).toEqual(["mine.txt"]);
    rmSync(join(home, "mine.txt"));
    expect((await meridian(["reset"]).ended).output).toBe(`${home}: there was nothing to remove\n`);
  });

  it("the start names the command that empties the folder in use", () => {
    const npm = { npm_package_name: "meridian" };
    expect(resetCommand(".meridian", npm)).toBe("npm run reset");
    expect(resetCommand("/data/m", { ...npm, MERIDIAN_HOME: "/data/m" })).toBe(
      "MERIDIAN_HOME=/data/m npm run reset",
    );
    expect(resetCommand("/my data/it's", { MERIDIAN_HOME: "/my data/it's" })).toBe(
      String.raw`MERIDIAN_HOME='/my data/it'\''s' npx meridian reset`,
    );
  });
});
