import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Connection } from "@temporalio/client";
import pg from "pg";
import { afterAll, expect, test } from "vitest";
import { type PartRecord, readLive, reset } from "../../../platform/embedded/home.ts";
import { type Embedded, findRunning, startEmbedded } from "../../../platform/embedded/index.ts";
import { freePort } from "../../../platform/embedded/ports.ts";
import { isAlive, processStart } from "../../../platform/embedded/process.ts";
import { temporaryFolder } from "./support/folders.ts";
import { startProduct } from "./support/start-product.ts";

const databases = ["meridian"];
const started: Embedded[] = [];
afterAll(async () => {
  for (const one of started) await one.stop().catch(() => {});
});

async function start(home: string, more: Partial<Parameters<typeof startEmbedded>[0]> = {}) {
  const log: string[] = [];
  const options = { home, postgres: true, temporal: true, databases, env: process.env };
  const embedded = await startEmbedded({ ...options, log: (line) => log.push(line), ...more });
  started.push(embedded);
  return { ...embedded, log, url: embedded.databaseUrl("meridian") as string };
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query(text)).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}

async function namespaces(address: string): Promise<string[]> {
  const connection = await Connection.connect({ address });
  const found = await connection.workflowService.listNamespaces({});
  await connection.close();
  return found.namespaces.map((one) => one.namespaceInfo?.name ?? "");
}

async function until(what: string, look: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 30_000; Date.now() < end; await sleep(50)) {
    if (await Promise.resolve(look()).catch(() => false)) return;
  }
  throw new Error(`not in time: ${what}`);
}

const part = (home: string, name: "postgres" | "temporal") => readLive(home, name) as PartRecord;

test("a first start with a bare environment, Ctrl-C while it runs, and a second start that finds its data", async () => {
  const home = join(temporaryFolder(), ".meridian");
  // What an initdb killed halfway leaves.
  mkdirSync(join(home, "postgres", "data.new.1"), { recursive: true });
  writeFileSync(join(home, "postgres", "data.new.1", "PG_VERSION"), "18");
  const product = startProduct({ home });
  const { databaseUrl, temporalAddress, temporalUi } = await product.line("ready");
  const url = databaseUrl as string;
  const [facts] = await query(
    url,
    `select datlocprovider, datlocale, pg_encoding_to_char(encoding) as encoding, current_setting('fsync') as fsync,
            current_setting('max_connections') as connections, lower('ÄÖ') as lower, current_setting('listen_addresses') as listen
     from pg_database where datname = current_database()`,
  );
  expect(facts).toEqual({
    datlocprovider: "b",
    datlocale: "C.UTF-8",
    encoding: "UTF8",
    fsync: "on",
    connections: "200",
    lower: "äö",
    listen: "127.0.0.1",
  });
  await expect(query(url.replace(/:[^:@]+@/, ":wrong@"), "select 1")).rejects.toThrow(
    /password authentication failed/,
  );
  expect(readdirSync(join(home, "postgres")).toSorted()).toEqual(["data", "password"]);
  expect(statSync(join(home, "postgres", "password")).mode & 0o777).toBe(0o600);
  expect(await namespaces(temporalAddress as string)).toContain("default");
  expect((await fetch(temporalUi as string)).status).toBe(200);
  await query(url, "create table kept as select 7 as value");
  expect(findRunning(home)).toMatchObject({ pid: product.child.pid, temporalAddress, temporalUi });
  expect(findRunning(home)?.databaseUrl("meridian")).toBe(url);

  // As the terminal does it: to every process of the group.
  process.kill(-(product.child.pid as number), "SIGINT");
  expect(await product.line("draining")).toEqual({ draining: true });
  await product.line("stopped");
  await product.ended();
  expect(findRunning(home)).toBeNull();
  expect(readdirSync(home).filter((name) => name.endsWith(".pid.json"))).toEqual([]);

  const again = await start(home);
  expect(await query(again.url, "select value from kept")).toEqual([{ value: 7 }]);
  await again.stop();
});

test("a live folder is refused to a second start and to reset; what a killed start left is adopted, then ended", async () => {
  const home = join(temporaryFolder(), ".meridian");
  const first = startProduct({ home });
  const { databaseUrl, temporalAddress } = await first.line("ready");
  const url = databaseUrl as string;
  await query(url, "create table kept as select 7 as value");

  const refusal = new RegExp(
    `^Meridian is already running from .* \\(pid ${first.child.pid}\\); stop it or set MERIDIAN_HOME`,
  );
  await expect(start(home)).rejects.toThrow(refusal);
  await expect(reset(home)).rejects.toThrow(refusal);

  const before = { postgres: part(home, "postgres"), temporal: part(home, "temporal") };
  first.child.kill("SIGKILL");
  await first.ended();
  expect([isAlive(before.postgres), isAlive(before.temporal)]).toEqual([true, true]);

  const second = await start(home);
  expect([part(home, "postgres").pid, part(home, "temporal").pid]).toEqual([
    before.postgres.pid,
    before.temporal.pid,
  ]);
  expect(second.log.filter((line) => line.includes("taken over"))).toHaveLength(2);
  expect([second.url, second.temporalAddress]).toEqual([url, temporalAddress]);
  expect(await query(second.url, "select value from kept")).toEqual([{ value: 7 }]);
  await second.stop();
  expect([isAlive(before.postgres), isAlive(before.temporal)]).toEqual([false, false]);
});

test("a killed start's servers on other ports than now given, or no longer wanted, are ended", async () => {
  const home = join(temporaryFolder(), ".meridian");
  const first = startProduct({ home });
  await first.line("ready");
  const before = { postgres: part(home, "postgres"), temporal: part(home, "temporal") };
  first.child.kill("SIGKILL");
  await first.ended();

  const postgresPort = await freePort();
  const second = await start(home, { postgresPort, temporal: false });
  expect([isAlive(before.postgres), isAlive(before.temporal)]).toEqual([false, false]);
  expect(new URL(second.url).port).toBe(String(postgresPort));
  expect([second.temporalAddress, second.temporalUi]).toEqual([null, null]);
  await second.stop();
});

test("servers killed with -9 while we run are started again on the same ports, with their data", async () => {
  const home = join(temporaryFolder(), ".meridian");
  const embedded = await start(home);
  await query(embedded.url, "create table kept as select 7 as value");
  const before = { postgres: part(home, "postgres"), temporal: part(home, "temporal") };
  process.kill(before.postgres.pid, "SIGKILL");
  process.kill(before.temporal.pid, "SIGKILL");
  await until("Postgres answers again", async () => {
    return (await query(embedded.url, "select value from kept"))[0]?.["value"] === 7;
  });
  await until("Temporal answers again", async () => {
    return (await namespaces(embedded.temporalAddress as string)).includes("default");
  });
  await until("records name the new processes", () => {
    return (
      part(home, "postgres").pid !== before.postgres.pid && part(home, "temporal").pid !== before.temporal.pid
    );
  });
  await embedded.stop();
  expect(processStart(before.postgres.pid)).toBeNull();
});

test("all killed at once, and the old server's pid taken by another program: the next start recovers", async () => {
  const home = join(temporaryFolder(), ".meridian");
  const first = startProduct({ home, temporal: false });
  await query((await first.line("ready"))["databaseUrl"] as string, "create table kept as select 7 as value");
  const old = part(home, "postgres");
  first.child.kill("SIGKILL");
  process.kill(old.pid, "SIGKILL");
  await first.ended();

  // Postgres takes the pid in the file for its own, as long as a process of its user has it.
  const pidFile = join(home, "postgres", "data", "postmaster.pid");
  const { uid, gid } = statSync(pidFile);
  const other = spawn("sleep", ["60"], process.getuid?.() === 0 ? { uid, gid } : {});
  const lines = readFileSync(pidFile, "utf8").split("\n");
  writeFileSync(pidFile, [String(other.pid), ...lines.slice(1)].join("\n"));

  const second = await start(home, { temporal: false });
  expect(await query(second.url, "select value from kept")).toEqual([{ value: 7 }]);
  expect(isAlive({ pid: other.pid as number, startedAt: processStart(other.pid as number) ?? "" })).toBe(
    true,
  );
  other.kill("SIGKILL");
  await second.stop();
});

test("reset ends what is left and empties the folder, but spares what was there before us", async () => {
  const home = join(temporaryFolder(), "given");
  mkdirSync(home);
  await reset(home);
  writeFileSync(join(home, "letters.txt"), "mine");
  await expect(reset(home)).rejects.toThrow(/holds no Meridian data/);
  const first = startProduct({ home, temporal: false });
  await first.line("ready");
  const old = part(home, "postgres");
  first.child.kill("SIGKILL");
  await first.ended();
  await reset(home);
  expect(isAlive(old)).toBe(false);
  expect(readdirSync(home)).toEqual(["letters.txt"]);
});

test("a given port that is taken refuses the whole start, ends what it began and frees the folder", async () => {
  const home = join(temporaryFolder(), ".meridian");
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const temporalPort = (server.address() as { port: number }).port;
  await expect(start(home, { temporalPort })).rejects.toThrow(
    `Temporal: port ${temporalPort} on 127.0.0.1 is taken by another program; stop that program, set MERIDIAN_TEMPORAL_PORT to another port, or unset it to take the next free one`,
  );
  server.close();
  expect(findRunning(home)).toBeNull();
  expect(readLive(home, "postgres")).toBeNull();
});
