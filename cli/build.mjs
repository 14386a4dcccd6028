// Builds what `npm start` otherwise builds when it is missing or stale: the page and the workflow bundle.
import { register } from "tsx/esm/api";

register();
const { buildIfStale } = await import("../web/build-if-stale.ts");
const { workflowBundle } = await import("../worker/bundle.ts");
await buildIfStale(console.log);
console.log(`the workflow bundle is ${await workflowBundle(console.log)}`);
