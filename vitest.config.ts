import { defaultServerConditions } from "vite";
import { defineConfig } from "vitest/config";

/** `npm run test:full` runs the named sizes; `npm test` the same tests with limits lowered so that the same edges are crossed. */
const full = process.env["MERIDIAN_TEST_FULL"] === "1";

export default defineConfig({
  // `meridian/client` is its source here, as for the compiler; test/package-installed.e2e.test.ts takes what is built.
  // Without "module", as Node itself has it: what a package keeps there is for bundlers.
  ssr: {
    resolve: {
      conditions: ["meridian-source", ...defaultServerConditions.filter((name) => name !== "module")],
    },
  },
  test: {
    // An author's own tests may lie beside their DAGs.
    include: ["test/**/*.test.ts", "dags/**/*.test.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    testTimeout: full ? 900_000 : 60_000,
    hookTimeout: 120_000,
    // What is waited for may be late on a crowded machine: as long as a page is given.
    expect: { poll: { timeout: 10_000 } },
    // Real servers, threads and browsers: two files at a time are what two cores bear.
    maxWorkers: 2,
    pool: "forks",
  },
});
