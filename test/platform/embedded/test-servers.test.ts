import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import pg from "pg";
import { expect, test } from "vitest";
import { isAlive } from "../../../platform/embedded/process.ts";
import type { ProcessId } from "../../../platform/embedded/process.ts";
import { startTestServers } from "../../support/servers.ts";

test("given servers are used as they are", async () => {
  const env = {
    MERIDIAN_TEST_DATABASE_URL: "postgresql://given/db",
    MERIDIAN_TEST_TEMPORAL_ADDRESS: "given:7233",
  };
  const servers = await startTestServers(env);
  expect(servers.databaseUrl).toBe("postgresql://given/db");
  expect(servers.temporalAddress).toBe("given:7233");
  await servers.stop();
});

test("a killed test run's servers are ended by the next, which leaves nothing behind", async () => {
  const module = (path: string) => JSON.stringify(new URL(`../../../${path}`, import.meta.url).href);
  const script = `
    const { startTestServers } = await import(${module("test/support/servers.ts")});
    const { readLive } = await import(${module("platform/embedded/home.ts")});
    const { folder } = await startTestServers();
    console.log(JSON.stringify({ folder, parts: [readLive(folder, "postgres"), readLive(folder, "temporal")] }));
    setInterval(() => {}, 1000);`;
  const args = ["--import", import.meta.resolve("tsx"), "--input-type=module", "-e", script];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { folder, parts } = JSON.parse((await lines.next()).value as string) as {
    folder: string;
    parts: ProcessId[];
  };
  child.kill("SIGKILL");
  await new Promise((resolve) => child.once("close", resolve));
  expect(parts.map(isAlive)).toEqual([true, true]);

  const next = await startTestServers();
  expect(parts.map(isAlive)).toEqual([false, false]);
  expect(existsSync(folder)).toBe(false);
  const client = new pg.Client({ connectionString: next.databaseUrl });
  client.on("error", () => {});
  await client.connect();
  expect((await client.query("show fsync")).rows).toEqual([{ fsync: "off" }]);
  await client.end();
  await next.stop();
  expect(existsSync(next.folder)).toBe(false);
});
