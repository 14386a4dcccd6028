/**
 * W4, many DAG files: `npm run bench:processor [-- --smoke]`. First the whole product as `npm start` makes it, over an
 * empty data folder: until every file is stored, then at rest. Then the processor by itself, over a database of its
 * own: cold, and once more over the same files. Linux only; it ends by itself, and removes what it made.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type pg from "pg";
import { diffSources } from "../api/source-diff.ts";
import { migrate } from "../db/migrate.ts";
import { freePort } from "../platform/embedded/ports.ts";
import { createLog } from "../platform/log.ts";
import { createPool } from "../platform/pg.ts";
import { createProcessor, type Processor } from "../processor/processor.ts";
import { cpuMs } from "./cpu.ts";
import { writeDocument } from "./document.ts";
import { childrenNamed, memoryOf } from "./memory.ts";
import { defaultOut } from "./options.ts";
import { writeExtra } from "./results.ts";
import { startPostgresIn } from "./servers.ts";
import { median } from "./statistics.ts";
import { undoAtEnd } from "./undo.ts";

const isSmoke = process.argv.includes("--smoke");
const FILES = isSmoke ? 20 : 200;
const COLD_FILES = isSmoke ? 40 : 1_000;
const SETTLE_MS = isSmoke ? 1_000 : 10_000;
const REST_MS = isSmoke ? 3_000 : 60_000;
const LONGEST_MS = 180_000;
const REPETITIONS = isSmoke ? 1 : 3;

const ROOT = fileURLToPath(new URL("../", import.meta.url));
/** Inside the project, so that `meridian` resolves from it. */
const HOME = join(ROOT, `.meridian/bench-processor-${process.pid}`);

const figures: Record<string, number> = {};
function report(what: string, value: number, unit: string): void {
  const rounded = Number(value.toPrecision(4));
  figures[`${what} (${unit})`] = rounded;
  console.log(`${what.padEnd(64)} ${rounded} ${unit}`);
}

/** As an author would write them: three root tasks, not due. */
function writeDags(folder: string, count: number): void {
  mkdirSync(folder, { recursive: true });
  for (let n = 0; n < count; n++) {
    const tasks = [0, 1, 2].map((i) => `  task("t${i}", () => ${n} + ${i});`).join("\n");
    const text = `import { dag, task } from "meridian";\n\ndag("scale_${n}", { schedule: null, tags: ["scale"] }, () => {\n${tasks}\n});\n`;
    writeFileSync(join(folder, `scale_${n}.ts`), text);
  }
}

const undo = undoAtEnd(failed);
undo.add(() => rmSync(HOME, { recursive: true, force: true }));
try {
  await wholeProduct();
  await processorAlone();
  sourceDiffs();
  if (!isSmoke) {
    writeExtra(defaultOut(false), "W4", figures);
    writeDocument(defaultOut(false));
  }
} finally {
  await undo.run();
}

function failed(error: unknown): void {
  console.error(error);
  process.exitCode = 1;
}

async function wholeProduct(): Promise<void> {
  const folder = join(HOME, "dags");
  writeDags(folder, FILES);
  // A start that finds them stale makes the page and the workflow bundle, in its own process.
  const build = spawn(process.execPath, ["cli/build.mjs"], { cwd: ROOT, stdio: "inherit" });
  if ((await once(build, "exit"))[0] !== 0) throw new Error("bench: the build failed");
  const port = await freePort();
  const began = performance.now();
  const product = spawn(process.execPath, ["cli/meridian.mjs", "start"], {
    cwd: ROOT,
    env: { ...process.env, MERIDIAN_HOME: HOME, MERIDIAN_DAGS: folder, MERIDIAN_PORT: String(port) },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const pid = product.pid!;
  const ended = once(product, "exit");
  const isOver = (): boolean => product.exitCode !== null || product.signalCode !== null;
  const stop = async () => {
    if (!isOver()) product.kill("SIGTERM");
    await ended;
  };
  undo.add(stop);
  const url = `http://127.0.0.1:${port}/api/v1`;
  // The product starts its processor when its API is there.
  await until(async () => (await fetch(`${url}/health`)).ok, isOver);
  const processorBegan = performance.now();
  await until(
    async () => ((await (await fetch(`${url}/dags?limit=1`)).json()) as { total: number }).total === FILES,
    isOver,
  );
  const stored = performance.now();
  report(`the processor's start → ${FILES} files stored`, (stored - processorBegan) / 1000, "s");
  report(`npm start on an empty data folder → ${FILES} files stored`, (stored - began) / 1000, "s");
  await sleep(SETTLE_MS);

  const postgres = childrenNamed(pid, "postgres");
  const temporal = childrenNamed(pid, "temporal");
  const cpu = () => [cpuMs([pid]), cpuMs(postgres), cpuMs(temporal)].map(Number) as [number, number, number];
  const before = cpu();
  await sleep(REST_MS);
  const after = cpu();
  const [all, database, server] = after.map((ms, i) => ((ms - before[i]!) / REST_MS) * 100) as [
    number,
    number,
    number,
  ];
  report("at rest: our own processes, CPU", all - database - server, "% of a core");
  report("at rest: PostgreSQL, CPU", database, "% of a core");
  report("at rest: Temporal, CPU", server, "% of a core");
  const groups = [
    ["our own processes", memoryOf([pid], [...postgres, ...temporal])],
    ["PostgreSQL", memoryOf(postgres)],
    ["Temporal", memoryOf(temporal)],
    ["all together", memoryOf([pid])],
  ] as const;
  for (const [name, memory] of groups) {
    report(`at rest: ${name}, PSS`, memory.pssMiB, "MiB");
    report(`at rest: ${name}, RSS`, memory.rssMiB, "MiB");
  }
  await stop();
}

async function processorAlone(): Promise<void> {
  const postgres = await startPostgresIn(join(HOME, "alone"));
  undo.add(() => postgres.stop());
  for (const count of [FILES, COLD_FILES]) {
    const name = `bench_${count}`;
    await postgres.createDatabases([name]);
    const pool = createPool({ url: postgres.url(name), max: 12, applicationName: "bench" }, () => {});
    undo.add(() => pool.end());
    await migrate(pool);
    const folder = join(HOME, `dags_${count}`);
    writeDags(folder, count);
    const fresh = (): Processor => {
      const home = join(HOME, "alone", "home");
      const log = createLog("warn", "bench");
      return createProcessor({ pool, folder, home, log, onStored: () => undefined });
    };
    const first = fresh();
    report(`one pass over ${count} new files`, await passSeconds(first, pool, count), "s");
    // What it read within the moment of their writing is looked at once more.
    await first.pass();
    await forbidWrites(pool);
    report(`a second pass over ${count} unchanged files`, await repeated(first, pool), "s");
    const again = fresh();
    report(
      `the first pass of a new start over ${count} unchanged files`,
      await passSeconds(again, pool, 0),
      "s",
    );
    await first.stop();
    await again.stop();
  }
}

async function passSeconds(processor: Processor, pool: pg.Pool, stored: number): Promise<number> {
  const began = performance.now();
  const summary = await processor.pass();
  if (summary.stored !== stored || summary.failed > 0) {
    throw new Error(`bench: a pass did ${JSON.stringify(summary)}; expected ${stored} stored`);
  }
  const seconds = (performance.now() - began) / 1000;
  const { rows } = await pool.query<{ n: number }>("select count(*)::int as n from app.dag");
  if (stored > 0 && rows[0]!.n !== stored) throw new Error(`bench: ${rows[0]!.n} DAGs instead of ${stored}`);
  return seconds;
}

async function repeated(processor: Processor, pool: pg.Pool): Promise<number> {
  const all: number[] = [];
  for (let i = 0; i < REPETITIONS; i++) all.push(await passSeconds(processor, pool, 0));
  return median(all);
}

/** From now on a row written fails the pass. */
async function forbidWrites(pool: pg.Pool): Promise<void> {
  await pool.query(
    `create function app.refuse_write() returns trigger language plpgsql as
       $$ begin raise exception '% of %', tg_op, tg_table_name; end $$`,
  );
  for (const table of ["dag", "dag_file", "dag_version", "bundle", "account"]) {
    await pool.query(
      `create trigger refuse_write before insert or update or delete on app.${table}
         for each row execute function app.refuse_write()`,
    );
  }
}

/** Two versions of a large source, of which some lines changed, and of which all did. */
function sourceDiffs(): void {
  const lines = Array.from({ length: 5_000 }, (_, i) => `  const value_${i} = compute(${i}, "some text");`);
  const text = (change: (line: string, i: number) => string) => [
    { path: "x.ts", source: `${lines.map(change).join("\n")}\n` },
  ];
  const same = text((line) => line);
  for (const [what, other] of [
    [
      "difference of two sources of 5,000 lines, 50 changed",
      text((line, i) => (i % 100 === 0 ? `${line} //` : line)),
    ],
    ["… all changed", text((line) => `${line} // ${line.length}`)],
  ] as const) {
    const took = Array.from({ length: 5 }, () => {
      const began = performance.now();
      diffSources(same, other);
      return performance.now() - began;
    });
    report(what, median(took), "ms");
  }
}

async function until(check: () => Promise<boolean>, isOver = () => false): Promise<void> {
  for (const end = performance.now() + LONGEST_MS; performance.now() < end; await sleep(20)) {
    if (isOver()) throw new Error("bench: the product ended by itself");
    if (undo.interrupted) throw new Error("bench: interrupted");
    if (await check().catch(() => false)) return;
  }
  throw new Error(`bench: nothing within ${LONGEST_MS / 1000} s`);
}
