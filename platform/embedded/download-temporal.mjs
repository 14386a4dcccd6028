// Leaves the Temporal CLI in the folder given as the first argument. The SDK has no call that only
// downloads: it starts a server, which is stopped at once.
import { TestWorkflowEnvironment } from "@temporalio/testing";

try {
  const executable = { type: "cached-download", downloadDir: process.argv[2] };
  const environment = await TestWorkflowEnvironment.createLocal({ server: { executable } });
  await environment.teardown();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
