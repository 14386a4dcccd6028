/**
 * Stands for the whole product in a process of its own: starts the embedded parts, says where they
 * are, and waits. On SIGINT it proves that the database still answers, then stops in order.
 */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { type EmbeddedOptions, startEmbedded } from "../../../../platform/embedded/index.ts";

const options = JSON.parse(process.argv[2] ?? "{}") as Omit<EmbeddedOptions, "log">;
const say = (what: Record<string, unknown>) => process.stdout.write(`${JSON.stringify(what)}\n`);

try {
  const embedded = await startEmbedded({ ...options, env: process.env, log: (log) => say({ log }) });
  const databaseUrl = embedded.databaseUrl("meridian");
  let interrupted = false;
  process.once("SIGINT", () => (interrupted = true));
  say({
    ready: true,
    databaseUrl,
    temporalAddress: embedded.temporalAddress,
    temporalUi: embedded.temporalUi,
  });
  while (!interrupted) await sleep(50);
  await sleep(500);
  if (databaseUrl !== null) {
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    const { rows } = await client.query("select 1 as one");
    await client.end();
    say({ draining: rows[0].one === 1 });
  }
  await embedded.stop();
  say({ stopped: true });
} catch (error) {
  say({ error: (error as Error).message, code: (error as { code?: string }).code });
  process.exitCode = 1;
}
