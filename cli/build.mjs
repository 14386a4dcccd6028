// Builds what `npm start` otherwise builds when it is missing or stale (the page, the workflow bundle, the client), and
// the declarations that the package carries; with --for-start the page and the workflow bundle alone.
import { register } from "tsx/esm/api";

register();
const { buildIfStale } = await import("../web/build-if-stale.ts");
const { workflowBundle } = await import("../worker/bundle.ts");
await buildIfStale(console.log);
const bundle = await workflowBundle(console.log);
if (!process.argv.includes("--for-start")) {
  const { buildClient, buildTypes } = await import("./package-build.ts");
  console.log(`the workflow bundle is ${bundle}`);
  await buildClient();
  buildTypes();
}
