import type { BenchEnv } from "./contestant.ts";
import { writeDocument } from "./document.ts";
import { measure } from "./measure.ts";
import { type BenchOptions, defaultOut, readOptions, USAGE } from "./options.ts";
import { type RemoteContestant, startContestant } from "./remote.ts";
import { type Result, toResult, writeResults } from "./results.ts";
import { NAMESPACE, type Servers, startServers } from "./servers.ts";
import { resultLines } from "./table.ts";
import { undoAtEnd } from "./undo.ts";
import { titleOf, type Workload } from "./workloads.ts";

const undo = undoAtEnd(report);

function report(error: unknown): void {
  if (undo.interrupted) return;
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

async function prepare(options: BenchOptions, servers: Servers): Promise<RemoteContestant[]> {
  const contestants: RemoteContestant[] = [];
  for (const name of options.contestants) {
    const database = `bench_${name}`;
    await servers.createDatabases([database]);
    const env: BenchEnv = {
      temporalAddress: servers.temporalAddress,
      namespace: NAMESPACE,
      databaseUrl: servers.databaseUrl(database),
      workloads: options.workloads,
    };
    const contestant = startContestant(name);
    undo.add(() => contestant.tearDown());
    await contestant.setUp(env);
    contestants.push(contestant);
  }
  return contestants;
}

async function bench(options: BenchOptions): Promise<void> {
  console.log(`starting the servers (${options.server})`);
  const servers = await startServers(options.server);
  undo.add(() => servers.stop());
  const contestants = await prepare(options, servers);
  const rows: { workload: Workload; result: Result }[] = [];
  for (const workload of options.workloads) {
    console.log(`${workload.id} ${titleOf(workload.shape)}: ${workload.repetitions} repetitions`);
    const result = toResult(workload, options.server, await measure(workload, contestants, servers.pids));
    rows.push({ workload, result });
    // After each one: what is measured stays, should a later workload fail.
    writeResults(options.out, { [workload.id]: result });
  }
  if (options.out === defaultOut(false)) writeDocument(options.out);
  console.log(`\n${resultLines(rows).join("\n")}\n\nwritten to ${options.out}`);
}

try {
  const options = readOptions(process.argv.slice(2));
  if (options) await bench(options);
  else console.log(USAGE);
} catch (error) {
  report(error);
} finally {
  await undo.run();
}
