import { spawn } from "node:child_process";
import { closeSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { listensOn } from "../../../platform/embedded/listener.ts";
import { openLog, tailOf } from "../../../platform/embedded/log-file.ts";
import { endProcess, isAlive, ownProcessId, processStart } from "../../../platform/embedded/process.ts";
import { spawnDetached } from "../../../platform/embedded/process.ts";
import { temporaryFolder } from "./support/folders.ts";

test("a process is known by pid and start, and a start of another is not believed", () => {
  const own = ownProcessId();
  expect(isAlive(own)).toBe(true);
  expect(isAlive({ ...own, startedAt: "another" })).toBe(false);
  expect(processStart(0)).toBeNull();
  expect(processStart(Number.NaN)).toBeNull();
});

test.runIf(process.platform === "linux")("a zombie counts as gone", async () => {
  // The shell leaves its child unwaited for.
  const shell = spawn("sh", ["-c", "sleep 0.05 & echo $!; exec sleep 5"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const pid = Number(await new Promise<Buffer>((resolve) => shell.stdout.once("data", resolve)));
  await sleep(400);
  expect(readFileSync(`/proc/${pid}/stat`, "utf8")).toContain(" Z ");
  expect(processStart(pid)).toBeNull();
  shell.kill("SIGKILL");
});

test("a server behind a wrapper script ends with its group, by force when it must", async () => {
  const folder = temporaryFolder();
  const start = (name: string, trap: string) =>
    spawnDetached({
      command: "/bin/sh",
      args: ["-c", `${trap}; sh -c '${trap}; echo inner $$; while :; do sleep 0.1; done'; true`],
      logFile: join(folder, name),
    });
  const innerOf = async (name: string) => {
    for (;;) {
      const pid = /inner (\d+)/.exec(readFileSync(join(folder, name), "utf8"))?.[1];
      if (pid !== undefined) return Number(pid);
      await sleep(20);
    }
  };
  const polite = await start("polite", ":");
  const politeInner = await innerOf("polite");
  expect(await endProcess(polite, { signal: "SIGTERM", graceMs: 3_000, group: true })).toBe(true);
  const deaf = await start("deaf", 'trap "" TERM');
  const deafInner = await innerOf("deaf");
  expect(await endProcess(deaf, { signal: "SIGTERM", graceMs: 300, group: true })).toBe(false);
  await sleep(100);
  for (const pid of [polite.pid, politeInner, deaf.pid, deafInner]) expect(processStart(pid)).toBeNull();
});

test("a command that is not there fails at once, by name", async () => {
  const logFile = join(temporaryFolder(), "log");
  await expect(spawnDetached({ command: "/not/there", args: [], logFile })).rejects.toThrow("/not/there");
});

test("who listens on a port is told apart from who does not", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const port = (server.address() as { port: number }).port;
  expect(listensOn(process.pid, port)).toBe(true);
  expect(listensOn(process.ppid, port)).toBe(false);
  server.close();
});

test("a log is appended to, its tail read from a mark, and a large one put aside", () => {
  const path = join(temporaryFolder(), "logs", "server.log");
  const write = (text: string) => {
    const file = openLog(path, 100);
    writeFileSync(file, text);
    closeSync(file);
  };
  write("one\n");
  write("two\n");
  expect(tailOf(path, 4)).toBe("two\n");
  write("x".repeat(101));
  write("new\n");
  expect(readFileSync(path, "utf8")).toBe("new\n");
  expect(readFileSync(`${path}.old`, "utf8").startsWith("one\ntwo\nxxx")).toBe(true);
});
