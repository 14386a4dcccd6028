/**
 * The import table of the house, as data. `test/layout.test.ts` reads every import against it:
 * an edge is added by changing this table in the same review.
 */
export interface FolderRule {
  /** Other folders this one may import values from. */
  readonly folders: readonly string[];
  /** Folders this one may import as types only. */
  readonly typesOnly?: readonly string[];
  /** Packages (prefix match) this one may import. `node:` stands for Node's built-ins. */
  readonly packages: readonly string[];
}

export const LAYOUT: Record<string, FolderRule> = {
  core: { folders: [], packages: [] },
  authoring: { folders: ["core"], packages: ["zod", "node:async_hooks"] },
  dags: { folders: ["authoring"], packages: ["meridian", "zod", "pg", "node:", "vitest"] },
  processor: {
    folders: ["core", "authoring", "db", "platform"],
    packages: ["node:", "esbuild", "chokidar", "pg", "zod", "tsx"],
  },
  schedules: {
    folders: ["core", "db", "client", "platform"],
    typesOnly: ["workflows"],
    packages: ["@temporalio/client", "@temporalio/common"],
  },
  workflows: { folders: ["core"], typesOnly: ["activities"], packages: ["@temporalio/workflow"] },
  activities: {
    folders: ["core", "authoring", "db", "client", "platform"],
    packages: ["node:", "@temporalio/activity", "@temporalio/common", "pg", "tsx"],
  },
  db: { folders: ["core"], packages: ["node:crypto", "node:fs", "node:url", "node:path", "pg"] },
  client: {
    folders: ["core", "platform", "db", "workflows"],
    typesOnly: [],
    packages: ["@temporalio/client", "@temporalio/common"],
  },
  remote: { folders: ["core"], typesOnly: ["api", "authoring"], packages: [] },
  api: {
    folders: ["core", "db", "client", "platform"],
    packages: ["hono", "@hono/", "zod", "diff", "yaml", "node:"],
  },
  web: {
    folders: ["core", "remote"],
    typesOnly: ["api"],
    packages: [
      "react",
      "react-dom",
      "@tanstack/",
      "@xyflow/",
      "@dagrejs/",
      "@lezer/",
      "react-markdown",
      "remark-gfm",
      "vite",
      "@vitejs/",
      "node:",
    ],
  },
  platform: {
    folders: ["core"],
    packages: ["node:", "zod", "pg", "pino", "pino-pretty", "@temporalio/", "@aws-sdk/client-s3"],
  },
  worker: {
    folders: [
      "core",
      "authoring",
      "processor",
      "schedules",
      "workflows",
      "activities",
      "db",
      "client",
      "platform",
    ],
    packages: ["node:", "@temporalio/", "esbuild", "pg"],
  },
  cli: {
    folders: [
      "core",
      "authoring",
      "processor",
      "schedules",
      "activities",
      "worker",
      "db",
      "client",
      "remote",
      "api",
      "platform",
      "web",
    ],
    packages: [
      "node:",
      "commander",
      "@temporalio/client",
      "@hono/",
      "hono",
      "vite",
      "tsx",
      "esbuild",
      "pg",
      "yaml",
    ],
  },
  bench: { folders: ["*"], packages: ["*"] },
  test: { folders: ["*"], packages: ["*"] },
};
