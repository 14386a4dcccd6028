import { defineConfig } from "vitest/config";

/** An author's tests beside the DAGs: without the servers that the whole suite starts. */
export default defineConfig({ test: { include: ["dags/**/*.test.ts"] } });
