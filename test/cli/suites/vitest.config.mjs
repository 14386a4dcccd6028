import { fileURLToPath } from "node:url";

/** Tiny suites for the test of test/run.mjs: no servers, and names that the real suite does not take. */
export default {
  root: fileURLToPath(new URL(".", import.meta.url)),
  test: { include: ["*.suite.ts"] },
};
