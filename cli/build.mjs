// Builds what `npm start` otherwise builds when it is missing or stale (the page, the workflow bundle, the client), and
// the declarations that the package carries.
import { register } from "tsx/esm/api";

register();
const { buildIfStale } = await import("../web/build-if-stale.ts");
const { workflowBundle } = await import("../worker/bundle.ts");
const { buildClient, buildTypes } = await import("./package-build.ts");
await buildIfStale(console.log);
console.log(`the workflow bundle is ${await workflowBundle(console.log)}`);
await buildClient();
buildTypes();
